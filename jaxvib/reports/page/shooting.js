// Periodic orbits by Newton's method, and the eigenvalues of their monodromy matrices.

const ITERATIONS = 25, HALVINGS = 8;
const ROUNDING = 1e-14; // residual below which no step helps
const FALLING = 0.5; // the least share by which a step without derivatives must succeed
const CLOSED = 1e-9; // the residual of an orbit, relative to the motion's size
// Distance of |multiplier| from 1 that decides on stability: by derivatives, by differences.
const DECIDED = [1e-6, 1e-3];

// The orbit near a state that closes after some periods: {state, periods, residual, its
// monodromy `matrix`, multipliers, stable: 1, 0, or -1 if undecided}; null if Newton's
// method finds none. `near`: an orbit for neighbouring values, whose matrix saves derivatives.
function shoot(motions, guess, periods, near = null) {
  let state = near?.periods === periods ? secant(motions, guess, near) : guess;
  let now = periodMap(motions, state, periods);
  for (let i = 0; i < ITERATIONS && now.residual > ROUNDING; i++) {
    const step = solved(lessOne(now.matrix), now.gap.map((x) => -x));
    if (!step) return null;
    const next = damped(motions, state, step, now, periods);
    if (!next) break;
    [state, now] = next;
  }
  if (!(now.residual < CLOSED)) return null;
  for (let n = 1; n < periods; n++) { // it may have a shorter period
    if (periods % n === 0 && distance(motions.after(state, n), state, motions.units(state)) < 100 * CLOSED) return shoot(motions, state, n);
  }
  const units = motions.units(state);
  const scaled = now.matrix.map((row, i) => row.map((value, j) => (value * units[j]) / units[i]));
  const multipliers = eigenvalues(scaled).sort((a, b) => Math.hypot(...b) - Math.hypot(...a));
  const beyond = Math.hypot(...multipliers[0]) - 1;
  const stable = Math.abs(beyond) < DECIDED[Number(!motions.slope)] ? -1 : Number(beyond < 0);
  return { state, periods, residual: now.residual, matrix: now.matrix, multipliers, stable };
}

// The state that Broyden's method reaches from a guess, as long as the residual falls fast:
// without derivatives, which take most of the time of a step of Newton's method.
function secant(motions, guess, { periods, matrix }) {
  const rows = lessOne(matrix), units = motions.units(guess);
  let state = guess, now = closing(motions, state, periods, units);
  for (let i = 0; i < ITERATIONS && now.residual > ROUNDING; i++) {
    const step = solved(rows, now.gap.map((x) => -x));
    if (!step) break;
    const moved = state.map((value, k) => value + step[k]);
    const next = closing(motions, moved, periods, units);
    if (!(next.residual < FALLING * now.residual)) break;
    [state, now] = [moved, next];
    const scaled = step.map((value, j) => value / units[j] ** 2), length = step.reduce((sum, value, j) => sum + value * scaled[j], 0);
    rows.forEach((row, i) => { for (let j = 0; j < row.length; j++) row[j] += now.gap[i] * scaled[j] / length; });
  }
  return state;
}

function closing(motions, state, periods, units) {
  const end = motions.after(state, periods);
  return { gap: end.map((value, i) => value - state[i]), residual: distance(end, state, units) };
}

function lessOne(matrix) {
  return matrix.map((row, k) => row.map((value, j) => value - (j === k)));
}

// A Newton step, halved until the residual decreases; null if it does not.
function damped(motions, state, step, now, periods) {
  const tries = now.residual < CLOSED ? 1 : HALVINGS;
  for (let part = 1, i = 0; i < tries; i++, part /= 2) {
    const moved = state.map((value, k) => value + part * step[k]);
    if (distance(motions.after(moved, periods), moved, motions.units(moved)) < now.residual) return [moved, periodMap(motions, moved, periods)];
  }
  return null;
}

function periodMap(motions, state, periods) {
  let { state: end, matrix } = motions.afterWithMatrix(state);
  for (let n = 1; n < periods; n++) {
    const next = motions.afterWithMatrix(end);
    [end, matrix] = [next.state, product(next.matrix, matrix)];
  }
  return { matrix, gap: end.map((value, i) => value - state[i]), residual: distance(end, state, motions.units(state)) };
}

function product(one, other) {
  return one.map((row) => other[0].map((_, j) => row.reduce((sum, value, k) => sum + value * other[k][j], 0)));
}

// The solution of linear equations by elimination with pivots; null if it is singular.
function solved(matrix, right) {
  const rows = matrix.map((row, i) => [...row, right[i]]), size = right.length;
  for (let k = 0; k < size; k++) {
    let pivot = k;
    for (let i = k + 1; i < size; i++) if (Math.abs(rows[i][k]) > Math.abs(rows[pivot][k])) pivot = i;
    [rows[k], rows[pivot]] = [rows[pivot], rows[k]];
    if (!(Math.abs(rows[k][k]) > 1e-300)) return null;
    for (let i = 0; i < size; i++) {
      const share = i === k ? 0 : rows[i][k] / rows[k][k];
      if (share) for (let j = k; j <= size; j++) rows[i][j] -= share * rows[k][j];
    }
  }
  return rows.map((row, i) => row[size] / row[i]);
}

const plus = ([a, b], [c, d]) => [a + c, b + d];
const minus = ([a, b], [c, d]) => [a - c, b - d];
const times = ([a, b], [c, d]) => [a * c - b * d, a * d + b * c];
const conjugate = ([a, b]) => [a, -b];

function squareRoot([a, b]) {
  const modulus = Math.hypot(a, b);
  const real = Math.sqrt((modulus + Math.abs(a)) / 2);
  if (!real) return [0, 0];
  return a >= 0 ? [real, b / (2 * real)] : [Math.abs(b) / (2 * real), b < 0 ? -real : real];
}

// Eigenvalues as [real, imaginary], by complex QR iteration of the Hessenberg form.
function eigenvalues(matrix) {
  const h = hessenberg(matrix).map((row) => row.map((value) => [value, 0]));
  const found = [];
  let last = h.length - 1;
  for (let turn = 0; last >= 0 && turn < 60 * h.length; turn++) {
    let first = last;
    while (first > 0) {
      const beside = Math.hypot(...h[first][first]) + Math.hypot(...h[first - 1][first - 1]);
      if (Math.hypot(...h[first][first - 1]) <= Number.EPSILON * beside) break;
      first--;
    }
    if (first < last) turnOnce(h, first, last, turn % 11 === 10);
    else found.push(h[last][last--]);
  }
  for (; last >= 0; last--) found.push([NaN, NaN]);
  return found.map(([a, b]) => (Math.abs(b) <= 1e-14 * Math.abs(a) ? [a, 0] : [a, b]));
}

// One QR step of the rows and columns from first to last; `odd`: with a shift that
// ends cycles.
function turnOnce(h, first, last, odd) {
  const shift = odd ? plus(h[last][last], [Math.hypot(...h[last][last - 1]), 0]) : nearest2(h, last);
  for (let k = first; k <= last; k++) h[k][k] = minus(h[k][k], shift);
  const turns = [];
  for (let k = first; k < last; k++) {
    const [a, b] = [h[k][k], h[k + 1][k]], length = Math.hypot(...a, ...b) || 1;
    const [c, s] = [a.map((x) => x / length), b.map((x) => x / length)];
    turns.push([c, s]);
    for (let j = k; j <= last; j++) {
      const [x, y] = [h[k][j], h[k + 1][j]];
      h[k][j] = plus(times(conjugate(c), x), times(conjugate(s), y));
      h[k + 1][j] = minus(times(c, y), times(s, x));
    }
  }
  turns.forEach(([c, s], turn) => {
    const k = first + turn;
    for (let i = first; i <= Math.min(k + 2, last); i++) {
      const [x, y] = [h[i][k], h[i][k + 1]];
      h[i][k] = plus(times(x, c), times(y, s));
      h[i][k + 1] = minus(times(y, conjugate(c)), times(x, conjugate(s)));
    }
  });
  for (let k = first; k <= last; k++) h[k][k] = plus(h[k][k], shift);
}

// The eigenvalue of the last two rows and columns that is nearest to the last entry.
function nearest2(h, last) {
  const [a, b, c, d] = [h[last - 1][last - 1], h[last - 1][last], h[last][last - 1], h[last][last]];
  const half = minus(a, d).map((x) => x / 2);
  const root = squareRoot(plus(times(half, half), times(b, c)));
  const [one, other] = [plus(half, root), minus(half, root)];
  return plus(d, Math.hypot(...one) < Math.hypot(...other) ? one : other);
}

// A similar matrix with zeros below the first subdiagonal, by elimination with pivots.
function hessenberg(matrix) {
  const a = matrix.map((row) => [...row]), size = a.length;
  for (let k = 1; k < size - 1; k++) {
    let pivot = k;
    for (let i = k + 1; i < size; i++) if (Math.abs(a[i][k - 1]) > Math.abs(a[pivot][k - 1])) pivot = i;
    if (!a[pivot][k - 1]) continue;
    [a[k], a[pivot]] = [a[pivot], a[k]];
    for (const row of a) [row[k], row[pivot]] = [row[pivot], row[k]];
    for (let i = k + 1; i < size; i++) {
      const share = a[i][k - 1] / a[k][k - 1];
      if (!share) continue;
      for (let j = 0; j < size; j++) a[i][j] -= share * a[k][j];
      for (const row of a) row[k] += share * row[i];
      a[i][k - 1] = 0;
    }
  }
  return a;
}
