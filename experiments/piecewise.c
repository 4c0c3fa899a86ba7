/* One motion of linear bodies with linear stops, flight by flight; see piecewise.py. */

#include <complex.h>
#include <math.h>

#define MOST 16 /* components of a state */

typedef double complex number;

/* What one system is, with each set of touched stops in turn (place = its bits). */
typedef struct {
    int size, stops;
    double period, frequency;
    const double *directions, *gaps; /* (stops, size / 2), (stops) */
    const double *step, *whole;      /* (places), (places, size, size): exp(A step) */
    const double *rest;              /* (places, size) */
    const number *values, *vectors, *inverses, *swing;
} System;

typedef struct {
    const System *system;
    int place;
    double time;
    number free[MOST];
} Flight;

static void steady(const System *s, int place, double time, double *out) {
    number turn = cexp(I * s->frequency * time);
    for (int i = 0; i < s->size; i++)
        out[i] = creal(s->swing[place * s->size + i] * turn) + s->rest[place * s->size + i];
}

static void begin(Flight *f, const System *s, int place, double time, const double *state) {
    double base[MOST];
    int n = s->size;
    f->system = s, f->place = place, f->time = time;
    steady(s, place, time, base);
    for (int i = 0; i < n; i++) {
        f->free[i] = 0;
        for (int j = 0; j < n; j++)
            f->free[i] += s->inverses[(place * n + i) * n + j] * (state[j] - base[j]);
    }
}

static void at(const Flight *f, double ahead, double *out) {
    const System *s = f->system;
    int n = s->size;
    number grown[MOST];
    steady(s, f->place, f->time + ahead, out);
    for (int j = 0; j < n; j++)
        grown[j] = f->free[j] * cexp(s->values[f->place * n + j] * ahead);
    for (int i = 0; i < n; i++) {
        number sum = 0;
        for (int j = 0; j < n; j++) sum += s->vectors[(f->place * n + i) * n + j] * grown[j];
        out[i] += creal(sum);
    }
}

/* How far a stop is from its change, below 0 before it (part 0), or its rate (part 1). */
static double closing(const System *s, int place, int stop, int part, const double *state) {
    int half = s->size / 2;
    double sum = part ? 0.0 : -s->gaps[stop];
    for (int i = 0; i < half; i++) sum += s->directions[stop * half + i] * state[part * half + i];
    return (place >> stop) & 1 ? -sum : sum;
}

/* Where it changes its sign between two times, by the Illinois method. */
static double root(const Flight *f, int stop, int part, double low, double high) {
    double state[MOST], below, above, middle = low;
    at(f, low, state), below = closing(f->system, f->place, stop, part, state);
    at(f, high, state), above = closing(f->system, f->place, stop, part, state);
    int side = 0;
    for (int i = 0; i < 100 && high - low > 1e-16 * f->system->period; i++) {
        double share = above != below ? below / (below - above) : 0.5;
        middle = low + fmin(fmax(share, 0.0), 1.0) * (high - low);
        at(f, middle, state);
        double value = closing(f->system, f->place, stop, part, state);
        if (value == 0) return middle;
        if ((value > 0) == (below > 0)) {
            low = middle, below = value;
            if (side == 1) above /= 2;
            side = 1;
        } else {
            high = middle, above = value;
            if (side == -1) below /= 2;
            side = -1;
        }
    }
    return middle;
}

/* The first change of a stop within a step, or -1; `when` is cut to its time. */
static int change(Flight *f, const System *s, int place, double time, const double *state,
                  const double *end, double *when) {
    int which = -1, begun = 0;
    double step = *when, seen[MOST];
    for (int stop = 0; stop < s->stops; stop++) {
        double rate = closing(s, place, stop, 1, state), last = closing(s, place, stop, 1, end);
        int crosses = closing(s, place, stop, 0, end) > 0;
        int swings = !crosses && rate > 0 && last < 0;
        if (!crosses && !swings) continue;
        if (!begun) begin(f, s, place, time, state), begun = 1;
        double low = 0, high = step, found;
        /* Where the rate changes its sign the gap is widest, or narrowest. */
        double turn = rate * last < 0 ? root(f, stop, 1, 0, step) : 0;
        if (crosses && rate < 0) low = turn;
        if (swings) high = turn;
        at(f, high, seen);
        if (closing(s, place, stop, 0, seen) <= 0) continue;
        at(f, low, seen);
        found = closing(s, place, stop, 0, seen) > 0 ? low : root(f, stop, 0, low, high);
        if (found < *when || which < 0) *when = found, which = stop;
    }
    return which;
}

/* The state after each of some periods, into `out`; returns the steps, < 0 if too many. */
static long follow(const System *s, double *state, int *touched, int periods, double *out) {
    int n = s->size;
    long steps = 0, most = 200000L * periods;
    for (int count = 0; count < periods; count++) {
        double time = 0;
        while (time < s->period) {
            Flight flight;
            double end[MOST], base[MOST], left = s->period - time;
            double step = fmin(s->step[*touched], left);
            if (step < left) {
                double apart[MOST];
                steady(s, *touched, time, base);
                for (int i = 0; i < n; i++) apart[i] = state[i] - base[i];
                steady(s, *touched, time + step, end);
                const double *whole = s->whole + *touched * n * n;
                for (int i = 0; i < n; i++)
                    for (int j = 0; j < n; j++) end[i] += whole[i * n + j] * apart[j];
            } else {
                begin(&flight, s, *touched, time, state);
                at(&flight, step, end);
            }
            double when = step;
            int which = change(&flight, s, *touched, time, state, end, &when);
            if (which >= 0) at(&flight, when, end), *touched ^= 1 << which;
            for (int i = 0; i < n; i++) state[i] = end[i];
            time = which < 0 && step == left ? s->period : time + when;
            if (++steps > most) return -1;
        }
        for (int i = 0; i < n; i++) out[count * n + i] = state[i];
    }
    return steps;
}

/* The same for one system of many, whose tables lie one after the other. */
long section(int lane, int size, int stops, int periods, const double *period,
             const double *frequency, const double *directions, const double *gaps,
             const double *step, const double *whole, const double *rest,
             const number *values, const number *vectors, const number *inverses,
             const number *swing, double *state, int *touched, double *out) {
    long row = (long)lane << stops;
    System s = {size, stops, period[lane], frequency[lane],
                directions + lane * stops * (size / 2), gaps + lane * stops,
                step + row, whole + row * size * size, rest + row * size,
                values + row * size, vectors + row * size * size,
                inverses + row * size * size, swing + row * size};
    return follow(&s, state, touched, periods, out);
}
