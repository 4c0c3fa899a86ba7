/* A motion from rest over 1 s, in ten parts. */
#include <stdio.h>
#include "system.h"

int main(void) {
    double parameters[SYSTEM_PARAMETERS + 1];
    double state[SYSTEM_STATES], after[SYSTEM_STATES];
    double forces[SYSTEM_CONTACTS + 1];
    for (int k = 0; k < SYSTEM_PARAMETERS; k++)
        parameters[k] = system_defaults[k];
    system_rest(parameters, state);
    double span = 1.0;
    for (int part = 1; part <= 10; part++) {
        double t0 = span * (part - 1) / 10, t1 = span * part / 10;
        int32_t code = system_motion(
            parameters, t0, t1, SYSTEM_RTOL, state, after, forces);
        if (code != SYSTEM_SUCCESS) {
            fprintf(stderr, "motion failed at %g s with code %d\n", t0, (int)code);
            return 1;
        }
        printf("%.17g", t1);
        for (int k = 0; k < SYSTEM_STATES; k++) {
            state[k] = after[k];
            printf(" %.17g", state[k]);
        }
        for (int k = 0; k < SYSTEM_CONTACTS; k++)
            printf(" %.17g", forces[k]);
        printf("\n");
    }
    return 0;
}
