// The two-body vibro-impact system by Tsit5, eight lanes in lockstep in AVX-512 registers.
// Compiled and called by engines.py:  g++ -O3 -march=native -ffast-math -fopenmp-simd
#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

constexpr int L = 8;
struct Lanes {
    double v[L];
};
#define EACH _Pragma("omp simd") for (int l = 0; l < L; ++l)

static const double A[6][6] = {
    {0.161},
    {-0.008480655492356989, 0.335480655492357},
    {2.8971530571054935, -6.359448489975075, 4.3622954328695815},
    {5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525},
    {5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401,
     -0.028269050394068383},
    {0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081,
     2.324710524099774}};
static const double C[6] = {0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0};
static const double E[7] = {-0.00178001105222577714, -0.0008164344596567469,
                            0.007880878010261995, -0.1447110071732629,
                            0.5823571654525552, -0.45808210592918697,
                            0.015151515151515152};
static const double MM = 1000.0, WM = 6.283, XM = 0.036, MA = 100.0, WA = 5.646, XA = 0.036,
                    GAP = 0.05;

static inline void field(const Lanes &t, const Lanes *s, const Lanes &K, const Lanes &F,
                         const Lanes &w, Lanes *f) {
    const double chi = MA / MM;
    EACH {
        double xm = s[0].v[l], xa = s[1].v[l], vm = s[2].v[l], va = s[3].v[l];
        double z = xm - xa, p = z > 0 ? z : 0.0, c = K.v[l] * p * std::sqrt(p);
        double link = 2 * XA * WA * (vm - va) + WA * WA * (z + GAP);
        f[0].v[l] = vm;
        f[1].v[l] = va;
        f[2].v[l] = -2 * XM * WM * vm - WM * WM * xm - chi * link +
                    (F.v[l] * std::cos(w.v[l] * t.v[l]) - c) / MM;
        f[3].v[l] = link + c / MA;
    }
}

static void run(const double *K_, const double *F_, const double *w_, int periods,
                double rtol, double *out, int first, int last) {
    for (int b = first; b < last; b += L) {
        Lanes K, F, w, t, T, h, prev, s[4], k[7][4], u[4], x;
        EACH {
            K.v[l] = K_[b + l], F.v[l] = F_[b + l], w.v[l] = w_[b + l];
            t.v[l] = 0, T.v[l] = periods * 2 * M_PI / w.v[l], h.v[l] = 1e-3, prev.v[l] = 1;
            s[0].v[l] = 0, s[1].v[l] = GAP, s[2].v[l] = 0, s[3].v[l] = 0;
        }
        field(t, s, K, F, w, k[0]);
        for (bool busy = true; busy;) {
            for (int i = 0; i < 6; ++i) {
                for (int d = 0; d < 4; ++d) EACH {
                    double sum = 0;
                    for (int j = 0; j <= i; ++j) sum += A[i][j] * k[j][d].v[l];
                    u[d].v[l] = s[d].v[l] + h.v[l] * sum;
                }
                EACH x.v[l] = t.v[l] + C[i] * h.v[l];
                field(x, u, K, F, w, k[i + 1]);
            }
            int left = 0;
            Lanes ratio;
            EACH ratio.v[l] = 0;
            for (int d = 0; d < 4; ++d) EACH {
                double e = 0;
                for (int j = 0; j < 7; ++j) e += E[j] * k[j][d].v[l];
                double size = std::fmax(std::fabs(s[d].v[l]), std::fabs(u[d].v[l]));
                e *= h.v[l] / (rtol * 1e-2 + rtol * size);
                ratio.v[l] += e * e / 4;
            }
            for (int l = 0; l < L; ++l) {
                bool active = t.v[l] < T.v[l];
                double r = std::fmax(std::sqrt(ratio.v[l]), 1e-10);
                bool good = active && r <= 1;
                double factor = 0.9 * std::pow(r, -0.14) * std::pow(prev.v[l], 0.08);
                factor = std::fmin(std::fmax(factor, 0.2), good ? 10.0 : 1.0);
                if (good) {
                    t.v[l] += h.v[l], prev.v[l] = std::fmax(r, 1e-4);
                    for (int d = 0; d < 4; ++d) s[d].v[l] = u[d].v[l], k[0][d].v[l] = k[6][d].v[l];
                }
                if (active) h.v[l] = std::fmin(h.v[l] * factor, std::fmax(T.v[l] - t.v[l], 0.0));
                left += t.v[l] < T.v[l];
            }
            busy = left > 0;
        }
        for (int l = 0; l < L; ++l)
            for (int d = 0; d < 4; ++d) out[4 * (b + l) + d] = s[d].v[l];
    }
}

extern "C" void tsit5_lanes(const double *K, const double *F, const double *w, int lanes,
                            int periods, double rtol, double *out, int threads) {
    std::vector<std::thread> pool;
    int share = (lanes / L + threads - 1) / threads * L;
    for (int i = 0; i < threads; ++i)
        if (i * share < lanes)
            pool.emplace_back(run, K, F, w, periods, rtol, out, i * share,
                              std::min(lanes, (i + 1) * share));
    for (auto &one : pool) one.join();
}
