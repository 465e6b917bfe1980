// Joules of the parts of a C++ program, marked by objects that end with their scope. Without a GPU,
// JOULEMAP_SIM=h200 simulates one.
//
//     c++ -std=c++11 parts.cpp $(pkg-config --cflags --libs joulemap) -o parts
//     JOULEMAP_SIM=h200 ./parts
//
// Not installed under /usr? PKG_CONFIG_PATH=$(joulemap --pkgconfigdir)
#include <iostream>
#include <joulemap/joulemap.hpp>

// A placeholder for work: launching kernels, waiting for results.
static void work(double seconds)
{
    const std::int64_t end_ns = joulemap::now_ns() + static_cast<std::int64_t>(seconds * 1e9);
    while (joulemap::now_ns() < end_ns) {
    }
}

static void factor()
{
    // Names are looked up once: a path in the report, and a type common to all calls.
    static const joulemap::name path("solver.factor"), type("Factor");
    joulemap::forward part(path, type);
    work(0.030);
}

int main()
try {
    joulemap::run run;
    for (int i = 0; i < 60; i++) {
        joulemap::step step(1);
        {
            joulemap::forward part("solver.assemble", "Assemble");
            work(0.005 + 0.0001 * (i % 20));
        }
        factor();
    }
    const joulemap::report report = run.report();
    std::cout << report.text();
    const jm_sum solver = report.sum("solver");
    std::cout << "\nsolver: " << solver.energy_j << " J, from " << solver.low_j << " to " << solver.high_j
              << "\n";
} catch (const joulemap::error &failed) {
    std::cerr << "parts: " << failed.what() << "\n";
    return jm_status_exit_code(failed.status());
}
