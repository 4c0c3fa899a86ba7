/* Motions of a system by jaxvib's kernels, in SI units and rad.
 *
 * Entries of a state:
 *   0: 0, -
 *   1: 1, -
 * Contacts: none
 * Arrays must not overlap. Functions allocate nothing, and may run in several threads
 * at the same time. Results of a failed motion are NaN. */
#ifndef SYSTEM_H
#define SYSTEM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SYSTEM_STATES 2
#define SYSTEM_CONTACTS 0 /* arrays of forces have one entry without any */
#define SYSTEM_PARAMETERS 1
#define SYSTEM_WORKSPACE 0 /* bytes, aligned to 64 */
#define SYSTEM_RTOL 1e-10 /* relative tolerance: larger is faster */

/* Places of the parameters, with unit and allowed range. */
#define SYSTEM_P_M 0 /* parameter, - */

static const double system_defaults[] = {
    0.5 /* m */
};

/* Return codes of motion, sensitivity and response; others have none. */
#define SYSTEM_SUCCESS 0 /* success */
#define SYSTEM_BAD_PARAMETER 1 /* a parameter or state is not finite or out of range */
#define SYSTEM_STEP_LIMIT 2 /* the solver used up its steps before the end time */
#define SYSTEM_STEP_UNDERFLOW 3 /* the solver's steps became too small: the solution diverges */
#define SYSTEM_FIELD_JUMPS 16 /* the vector field is discontinuous in the state: its derivatives do not give the stability */

/* Give the state at rest, in which the example starts. */
void system_rest(const double parameters[1], double state[2]);

/* Give the state `after` and the contact `forces` (N) at t1 of the motion in `state`
 * at t0 (s). */
int32_t system_motion(const double parameters[1], double t0, double t1, double rtol,
    const double state[2], double after[2], double forces[1]);

/* Give `motion`, and the change `d_after` of its end with small changes of its
 * arguments. One call per unit vector as `d_state` gives the columns of the monodromy
 * matrix, as `d_parameters` the derivatives by the parameters. */
int32_t system_sensitivity(const double parameters[1], double t0, double t1, double
    rtol, const double state[2], const double d_parameters[1], double d_t0, double d_t1,
    const double d_state[2], double after[2], double d_after[2]);

/* Give the rates of a state, the contact `forces` (N) and the `gaps` (m, negative in
 * contact) at a time (s). They omit the force that holds a body at a hard stop, and
 * friction sticks only if the sliding velocity is exactly 0, which rounding may hide;
 * `motion` has all of these forces. */
void system_derivatives(const double parameters[1], double time, const double state[2],
    double rates[2], double forces[1], double gaps[1]);

#ifdef __cplusplus
}
#endif
#endif
