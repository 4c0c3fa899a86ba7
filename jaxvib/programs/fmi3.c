/* A system of jaxvib as a model of FMI 3.0, for co-simulation and model exchange.
 *
 * Types and functions are declared as in the FMI 3.0.1 standard (Modelica Association,
 * 2023), sections 2.2 to 4.2. `model.h` describes the system. */
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The range of a parameter or an input, in numbers and as text. */
typedef struct {
    const char *name;
    double above, at_least, at_most, below;
    const char *allowed;
} Range;

#include "model.h" /* functions of the system as macros, such as MOTION */

typedef void *fmi3Instance;
typedef void *fmi3InstanceEnvironment;
typedef void *fmi3FMUState;
typedef uint32_t fmi3ValueReference;
typedef const char *fmi3String;
typedef const uint8_t *fmi3Binary;
typedef enum { fmi3OK, fmi3Warning, fmi3Discard, fmi3Error, fmi3Fatal } fmi3Status;
typedef void (*fmi3LogMessageCallback)(
    fmi3InstanceEnvironment, fmi3Status, fmi3String category, fmi3String message);

/* Times closer than this, relative to 1 s and to the time, are one for an importer. */
#define RESOLUTION 1e-9
/* Impacts at one instant, of one contact after the other. */
#define MOST_IMPACTS 1000
#define LARGEST_RTOL 1e-6

/* What a copy of an instance holds: doubles only, whose bytes can be stored. */
typedef struct {
    double time, rtol;
    double parameters[PARAMETERS + 1];
    double state[STATES];
} State;

typedef struct {
    State now;
    bool exchange; /* for model exchange */
    bool computed; /* whether the values below belong to the state */
    double rates[STATES], forces[CONTACTS + 1], gaps[CONTACTS + 1];
    fmi3LogMessageCallback log;
    fmi3InstanceEnvironment environment;
} Model;

static fmi3Status fail(const Model *model, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (model->log)
        model->log(model->environment, fmi3Error, "logStatusError", text);
    return fmi3Error;
}

static void restart(Model *model) {
    model->now.time = 0;
    model->now.rtol = DEFAULT_RTOL;
    memcpy(model->now.parameters, defaults, sizeof defaults);
    memcpy(model->now.state, start_state, sizeof model->now.state);
    model->computed = false;
}

static const char *reason_of(int32_t code) {
    for (size_t k = 0; k < sizeof reasons / sizeof *reasons; k++)
        if (reasons[k].code == code)
            return reasons[k].text;
    return "unknown reason";
}

static fmi3Status compute(Model *model) {
    if (model->computed)
        return fmi3OK;
    DERIVATIVES(model->now.parameters, model->now.time, model->now.state, model->rates,
                model->forces, model->gaps);
    if (!model->exchange) { /* with holding forces of hard stops */
        double after[STATES];
        int32_t code = MOTION(
            model->now.parameters, model->now.time, model->now.time, model->now.rtol, model->now.state,
            after, model->forces);
        if (code)
            return fail(model, "at %.9g s: %s", model->now.time, reason_of(code));
    }
    model->computed = true;
    return fmi3OK;
}

/* Instances. */

static Model *new_model(fmi3String token, bool exchange,
                        fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
    Model *model = calloc(1, sizeof *model);
    if (!model)
        return NULL;
    model->exchange = exchange;
    model->environment = environment;
    model->log = log;
    if (!token || strcmp(token, TOKEN)) {
        fail(model, "instantiationToken is not that of modelDescription.xml");
        free(model);
        return NULL;
    }
    restart(model);
    return model;
}

const char *fmi3GetVersion(void) { return "3.0"; }

fmi3Instance fmi3InstantiateModelExchange(
    fmi3String name, fmi3String token, fmi3String resources, bool visible, bool logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
    (void)name, (void)resources, (void)visible, (void)logging;
    if (HAS_MODEL_EXCHANGE)
        return new_model(token, true, environment, log);
    return NULL;
}

fmi3Instance fmi3InstantiateCoSimulation(
    fmi3String name, fmi3String token, fmi3String resources, bool visible, bool logging,
    bool event_mode, bool early_return, const fmi3ValueReference intermediate[],
    size_t intermediates, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    void *update) {
    (void)name, (void)resources, (void)visible, (void)logging, (void)event_mode;
    (void)early_return, (void)intermediate, (void)intermediates, (void)update;
    return new_model(token, false, environment, log);
}

fmi3Instance fmi3InstantiateScheduledExecution(
    fmi3String name, fmi3String token, fmi3String resources, bool visible, bool logging,
    fmi3InstanceEnvironment environment, fmi3LogMessageCallback log, void *clock,
    void *lock, void *unlock) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging;
    (void)environment, (void)log, (void)clock, (void)lock, (void)unlock;
    return NULL;
}

void fmi3FreeInstance(fmi3Instance instance) { free(instance); }

/* Errors are logged always, and nothing else is. */
fmi3Status fmi3SetDebugLogging(
    fmi3Instance instance, bool on, size_t count, const fmi3String categories[]) {
    (void)instance, (void)on, (void)count, (void)categories;
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance instance) {
    restart(instance);
    return fmi3OK;
}

fmi3Status fmi3EnterInitializationMode(
    fmi3Instance instance, bool has_tolerance, double tolerance, double start,
    bool has_stop, double stop) {
    Model *model = instance;
    (void)has_stop, (void)stop;
    if (has_tolerance && tolerance > 0)
        model->now.rtol = fmin(tolerance, LARGEST_RTOL);
    model->now.time = start;
    model->computed = false;
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) { return compute(instance); }

#define NOTHING(name)                          \
    fmi3Status name(fmi3Instance instance) {   \
        (void)instance;                        \
        return fmi3OK;                         \
    }
NOTHING(fmi3EnterEventMode)
NOTHING(fmi3Terminate)
NOTHING(fmi3EvaluateDiscreteStates)
NOTHING(fmi3EnterContinuousTimeMode)
NOTHING(fmi3EnterConfigurationMode)
NOTHING(fmi3ExitConfigurationMode)
NOTHING(fmi3EnterStepMode)

/* Variables: the time, parameters, inputs, states, rates, forces and gaps. */

static double *variable(Model *model, fmi3ValueReference reference, bool *written) {
    *written = false;
    if (reference == 0)
        return &model->now.time;
    if (reference < FIRST_STATE) {
        *written = true;
        return &model->now.parameters[places[reference - 1]];
    }
    reference -= FIRST_STATE;
    if (reference < STATES) {
        *written = true;
        return &model->now.state[reference];
    }
    reference -= STATES;
    if (reference < STATES)
        return &model->rates[reference];
    reference -= STATES;
    if (reference < CONTACTS)
        return &model->forces[reference];
    reference -= CONTACTS;
    return reference < CONTACTS ? &model->gaps[reference] : NULL;
}

static bool inside(const Range *range, double value) {
    return isfinite(value) && value > range->above && value >= range->at_least &&
           value <= range->at_most && value < range->below;
}

fmi3Status fmi3GetFloat64(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    double values[], size_t size) {
    Model *model = instance;
    if (size != count)
        return fail(model, "fmi3GetFloat64: %zu values for %zu variables", size, count);
    for (size_t k = 0; k < count; k++) {
        bool written;
        const double *found = variable(model, references[k], &written);
        if (!found)
            return fail(model, "no variable has the value reference %u", references[k]);
        if (!written && references[k] && compute(model) != fmi3OK)
            return fmi3Error;
        values[k] = *found;
    }
    return fmi3OK;
}

fmi3Status fmi3SetFloat64(
    fmi3Instance instance, const fmi3ValueReference references[], size_t count,
    const double values[], size_t size) {
    Model *model = instance;
    if (size != count)
        return fail(model, "fmi3SetFloat64: %zu values for %zu variables", size, count);
    for (size_t k = 0; k < count; k++) {
        bool written;
        double *found = variable(model, references[k], &written);
        if (!found || !written)
            return fail(model, "variable %u cannot be set", references[k]);
        if (references[k] < FIRST_STATE && !inside(&ranges[references[k] - 1], values[k]))
            return fail(model, "%s = %.9g is not in %s", ranges[references[k] - 1].name,
                        values[k], ranges[references[k] - 1].allowed);
    }
    for (size_t k = 0; k < count; k++) {
        bool written;
        *variable(model, references[k], &written) = values[k];
    }
    model->computed = false;
    return fmi3OK;
}

/* No variables are of other types. */
#define NO_VARIABLES(type, of)                                                        \
    fmi3Status fmi3Get##type(fmi3Instance instance, const fmi3ValueReference references[], \
                             size_t count, of values[], size_t size) {                \
        (void)references, (void)values, (void)size;                                   \
        return count ? fail(instance, "no variable is of type " #type) : fmi3OK;      \
    }                                                                                 \
    fmi3Status fmi3Set##type(fmi3Instance instance, const fmi3ValueReference references[], \
                             size_t count, const of values[], size_t size) {          \
        (void)references, (void)values, (void)size;                                   \
        return count ? fail(instance, "no variable is of type " #type) : fmi3OK;      \
    }
NO_VARIABLES(Float32, float)
NO_VARIABLES(Int8, int8_t)
NO_VARIABLES(UInt8, uint8_t)
NO_VARIABLES(Int16, int16_t)
NO_VARIABLES(UInt16, uint16_t)
NO_VARIABLES(Int32, int32_t)
NO_VARIABLES(UInt32, uint32_t)
NO_VARIABLES(Int64, int64_t)
NO_VARIABLES(UInt64, uint64_t)
NO_VARIABLES(Boolean, bool)
NO_VARIABLES(String, fmi3String)

/* The exact derivative of calculated variables along a change of others. */
fmi3Status fmi3GetDirectionalDerivative(
    fmi3Instance instance, const fmi3ValueReference unknowns[], size_t count,
    const fmi3ValueReference knowns[], size_t known, const double seed[], size_t seeds,
    double values[], size_t size) {
    Model *model = instance, change = {0};
    bool written;
    if (!model->exchange)
        return fail(model, "directional derivatives are for model exchange only");
    if (seeds != known || size != count)
        return fail(model, "fmi3GetDirectionalDerivative: %zu seeds for %zu variables, "
                    "%zu results for %zu", seeds, known, size, count);
    for (size_t k = 0; k < known; k++) {
        double *found = variable(&change, knowns[k], &written);
        if (!found || !(written || found == &change.now.time))
            return fail(model, "variable %u is calculated, not given", knowns[k]);
        *found += seed[k];
    }
#if HAS_MODEL_EXCHANGE
    TANGENTS(model->now.parameters, model->now.time, model->now.state,
             change.now.parameters, change.now.time, change.now.state, change.rates,
             change.forces, change.gaps);
#endif
    for (size_t k = 0; k < count; k++) {
        const double *found = variable(&change, unknowns[k], &written);
        if (!found)
            return fail(model, "no variable has the value reference %u", unknowns[k]);
        values[k] = *found;
    }
    return fmi3OK;
}

/* The exact derivative of a sum of calculated variables by each of others. A system has
   few variables: a tangent for each needs no program of its own, as reverse mode does. */
fmi3Status fmi3GetAdjointDerivative(
    fmi3Instance instance, const fmi3ValueReference unknowns[], size_t count,
    const fmi3ValueReference knowns[], size_t known, const double seed[], size_t seeds,
    double values[], size_t size) {
    const double one = 1;
    fmi3Status status = fmi3OK;
    if (seeds != count || size != known)
        return fail(instance, "fmi3GetAdjointDerivative: %zu seeds for %zu variables, "
                    "%zu results for %zu", seeds, count, size, known);
    double *column = calloc(count + 1, sizeof *column);
    if (!column)
        return fail(instance, "no memory for a derivative");
    for (size_t k = 0; k < known && status == fmi3OK; k++) {
        status = fmi3GetDirectionalDerivative(
            instance, unknowns, count, &knowns[k], 1, &one, 1, column, count);
        values[k] = 0;
        for (size_t i = 0; i < count; i++)
            values[k] += seed[i] * column[i];
    }
    free(column);
    return status;
}

/* Functions for what modelDescription.xml says is not provided. */
#define UNSUPPORTED(name, ...)                                                        \
    fmi3Status name(fmi3Instance instance, __VA_ARGS__) {                             \
        return fail(instance, #name " is not supported");                             \
    }
#define REFERENCES const fmi3ValueReference references[], size_t count
UNSUPPORTED(fmi3GetBinary, REFERENCES, size_t sizes[], fmi3Binary values[], size_t size)
UNSUPPORTED(fmi3SetBinary, REFERENCES, const size_t sizes[], const fmi3Binary values[],
            size_t size)
UNSUPPORTED(fmi3GetClock, REFERENCES, bool values[])
UNSUPPORTED(fmi3SetClock, REFERENCES, const bool values[])
UNSUPPORTED(fmi3GetNumberOfVariableDependencies, fmi3ValueReference of, size_t *number)
UNSUPPORTED(fmi3GetVariableDependencies, fmi3ValueReference of, size_t elements[],
            fmi3ValueReference independents[], size_t entries[], int kinds[], size_t size)
UNSUPPORTED(fmi3GetIntervalDecimal, REFERENCES, double intervals[], int qualifiers[])
UNSUPPORTED(fmi3GetIntervalFraction, REFERENCES, uint64_t counters[],
            uint64_t resolutions[], int qualifiers[])
UNSUPPORTED(fmi3GetShiftDecimal, REFERENCES, double shifts[])
UNSUPPORTED(fmi3GetShiftFraction, REFERENCES, uint64_t counters[], uint64_t resolutions[])
UNSUPPORTED(fmi3SetIntervalDecimal, REFERENCES, const double intervals[])
UNSUPPORTED(fmi3SetIntervalFraction, REFERENCES, const uint64_t counters[],
            const uint64_t resolutions[])
UNSUPPORTED(fmi3SetShiftDecimal, REFERENCES, const double shifts[])
UNSUPPORTED(fmi3SetShiftFraction, REFERENCES, const uint64_t counters[],
            const uint64_t resolutions[])
UNSUPPORTED(fmi3GetOutputDerivatives, REFERENCES, const int32_t orders[], double values[],
            size_t size)
UNSUPPORTED(fmi3ActivateModelPartition, fmi3ValueReference clock, double time)

/* Copies of an instance. */

fmi3Status fmi3GetFMUState(fmi3Instance instance, fmi3FMUState *copy) {
    if (!*copy)
        *copy = malloc(sizeof(State));
    if (!*copy)
        return fail(instance, "no memory for a copy of the state");
    memcpy(*copy, &((Model *)instance)->now, sizeof(State));
    return fmi3OK;
}

fmi3Status fmi3SetFMUState(fmi3Instance instance, fmi3FMUState copy) {
    Model *model = instance;
    memcpy(&model->now, copy, sizeof(State));
    model->computed = false;
    return fmi3OK;
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance, fmi3FMUState *copy) {
    (void)instance;
    free(*copy);
    *copy = NULL;
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(
    fmi3Instance instance, fmi3FMUState copy, size_t *size) {
    (void)instance, (void)copy;
    *size = sizeof(State);
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(
    fmi3Instance instance, fmi3FMUState copy, uint8_t bytes[], size_t size) {
    if (size != sizeof(State))
        return fail(instance, "a serialised state has %zu bytes", sizeof(State));
    memcpy(bytes, copy, size);
    return fmi3OK;
}

fmi3Status fmi3DeserializeFMUState(
    fmi3Instance instance, const uint8_t bytes[], size_t size, fmi3FMUState *copy) {
    if (size != sizeof(State))
        return fail(instance, "a serialised state has %zu bytes", sizeof(State));
    fmi3Status status = fmi3GetFMUState(instance, copy);
    if (status == fmi3OK)
        memcpy(*copy, bytes, size);
    return status;
}

/* Model exchange. */

fmi3Status fmi3SetTime(fmi3Instance instance, double time) {
    ((Model *)instance)->now.time = time;
    ((Model *)instance)->computed = false;
    return fmi3OK;
}

fmi3Status fmi3SetContinuousStates(
    fmi3Instance instance, const double states[], size_t count) {
    Model *model = instance;
    if (count != STATES)
        return fail(model, "fmi3SetContinuousStates: %zu states of %d", count, STATES);
    memcpy(model->now.state, states, sizeof model->now.state);
    model->computed = false;
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, double states[], size_t count) {
    if (count != STATES)
        return fail(instance, "fmi3GetContinuousStates: %zu states of %d", count, STATES);
    memcpy(states, ((Model *)instance)->now.state, count * sizeof *states);
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStateDerivatives(
    fmi3Instance instance, double rates[], size_t count) {
    Model *model = instance;
    if (count != STATES)
        return fail(model, "fmi3GetContinuousStateDerivatives: %zu of %d", count, STATES);
    fmi3Status status = compute(model);
    memcpy(rates, model->rates, sizeof model->rates);
    return status;
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, double values[], size_t count) {
    Model *model = instance;
    if (count != CONTACTS)
        return fail(model, "fmi3GetEventIndicators: %zu of %d", count, CONTACTS);
    fmi3Status status = compute(model);
    memcpy(values, model->gaps, count * sizeof *values);
    return status;
}

fmi3Status fmi3GetNominalsOfContinuousStates(
    fmi3Instance instance, double nominals[], size_t count) {
    (void)instance;
    for (size_t k = 0; k < count; k++)
        nominals[k] = 1;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *number) {
    (void)instance;
    *number = CONTACTS;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *number) {
    (void)instance;
    *number = STATES;
    return fmi3OK;
}

#if HARD_STOPS
/* Apply the impacts of all closed stops; refuse contacts that do not end. */
static fmi3Status strike(Model *model, bool *changed) {
    double rates[CONTACTS], accelerations[CONTACTS];
    double resolution = RESOLUTION * (1 + fabs(model->now.time));
    for (int impacts = 0;; impacts++) {
        int closing = -1;
        if (compute(model) != fmi3OK)
            return fmi3Error;
        APPROACH(model->now.parameters, model->now.time, model->now.state, rates, accelerations);
        for (int k = 0; k < CONTACTS; k++)
            if (hard[k] && model->gaps[k] <= 0 && rates[k] > 0)
                closing = k;
        if (closing < 0)
            break;
        if (impacts == MOST_IMPACTS)
            return fail(model, "at %.9g s: more than %d impacts", model->now.time, impacts);
        double after[STATES];
        IMPACT(model->now.parameters, closing, model->now.state, after);
        memcpy(model->now.state, after, sizeof after);
        model->computed = false;
        *changed = true;
    }
    for (int k = 0; k < CONTACTS; k++) {
        double rebound = -rates[k], back = accelerations[k];
        bool closed = hard[k] && model->gaps[k] <= 0 && back > 0;
        /* It neither leaves the stop nor lasts for a time that an importer resolves. */
        bool leaves = rebound * rebound > -2 * back * model->gaps[k];
        if (closed && !(rebound > resolution * back && leaves))
            return fail(model, "contact %d comes to rest at its stop at %.9g s, which "
                        "model exchange does not describe: use co-simulation",
                        k, model->now.time);
    }
    return fmi3OK;
}
#endif

fmi3Status fmi3CompletedIntegratorStep(
    fmi3Instance instance, bool no_return, bool *event, bool *terminate) {
    (void)instance, (void)no_return;
    *event = *terminate = false;
#if HARD_STOPS /* a rebound so short that both of its events are in one step */
    Model *model = instance;
    double rates[CONTACTS], accelerations[CONTACTS];
    if (compute(model) != fmi3OK)
        return fmi3Error;
    APPROACH(model->now.parameters, model->now.time, model->now.state, rates, accelerations);
    for (int k = 0; k < CONTACTS; k++)
        *event |= hard[k] && model->gaps[k] < 0 && rates[k] > 0;
#endif
    return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(
    fmi3Instance instance, bool *again, bool *terminate, bool *nominals_changed,
    bool *states_changed, bool *has_next, double *next) {
    Model *model = instance;
    *again = *terminate = *nominals_changed = *states_changed = *has_next = false;
    fmi3Status status = fmi3OK;
#if HARD_STOPS
    if (model->exchange)
        status = strike(model, states_changed);
#endif
#if BREAKS
    *next = NEXT_BREAK(model->now.parameters, model->now.time);
    *has_next = isfinite(*next) && *next > model->now.time;
#else
    (void)model, (void)next;
#endif
    return status;
}

/* Co-simulation. */

fmi3Status fmi3DoStep(
    fmi3Instance instance, double time, double step, bool no_return, bool *event,
    bool *terminate, bool *early, double *last) {
    Model *model = instance;
    double after[STATES], forces[CONTACTS + 1];
    (void)no_return;
    *event = *terminate = *early = false;
    *last = model->now.time;
    if (fabs(time - model->now.time) > RESOLUTION * (1 + fabs(time)))
        return fail(model, "step from %.17g s, but the time is %.17g s", time, model->now.time);
    int32_t code = MOTION(model->now.parameters, model->now.time, time + step, model->now.rtol,
                                 model->now.state, after, forces);
    if (code)
        return fail(model, "from %.9g to %.9g s: %s", time, time + step, reason_of(code));
    memcpy(model->now.state, after, sizeof after);
    model->now.time = *last = time + step;
    model->computed = false;
    return fmi3OK;
}
