// The C++ header: what begins in a scope ends with it, whatever ends the scope, and nothing ends twice.
//
// usage: cpp FOLDER; a simulated board. Exits 0 if all is so, else says what is not.
#include <joulemap/joulemap.hpp>

#include <cstdio>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

static int faults;

static void check(bool so, const char *what, int line)
{
    if (so) return;
    std::fprintf(stderr, "line %d: not so: %s\n", line, what);
    faults++;
}
#define CHECK(so) check((so), #so, __LINE__)

static const joulemap::name early("made before there is a run"), type("Type");

static void begin_and_throw()
{
    joulemap::forward part("thrown through");
    throw std::runtime_error("of the program");
}

static void in_threads()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; i++)
        threads.push_back(std::thread([] {
            static const joulemap::name shared("of eight threads");
            for (int k = 0; k < 100; k++)
                joulemap::forward part(shared, type);
        }));
    joulemap::span elsewhere(JM_SPAN_FORWARD, "ended elsewhere");
    threads.push_back(std::thread([&elsewhere] { elsewhere.end(); }));
    for (std::thread &thread : threads)
        thread.join();
}

static void tell_all()
{
    joulemap::phase phase("phase");
    joulemap::span none;
    none.end();
    none.end();
    for (int i = 0; i < 3; i++) {
        joulemap::step step(7);
        joulemap::forward part(early, type);
        joulemap::backward back("back", "Type");
    }
    joulemap::step counted;
    counted.end(3, 40);
    counted.end(9, 9); // is over
    try {
        begin_and_throw();
        CHECK(false && "not thrown");
    } catch (const std::runtime_error &) {
    }
    joulemap::span first(JM_SPAN_FORWARD, "moved");
    joulemap::span second(std::move(first));
    CHECK(first.id() == 0 && second.id() != 0);
    second = joulemap::span(JM_SPAN_FORWARD, "in its place"); // which ends the one that was there
    std::vector<joulemap::span> many;
    for (int i = 0; i < 10; i++)
        many.push_back(joulemap::span(JM_SPAN_FORWARD, "in a vector"));
    joulemap::span unnamed(JM_SPAN_FORWARD, static_cast<const char *>(nullptr));
    joulemap::forward long_one(std::string(1 << 20, 'x').c_str());
    joulemap::mark("mark", "{\"at\": 1}");
    in_threads();
}

static void check_spans(const joulemap::recording &file)
{
    jm_timeline *timeline = nullptr;
    jm_error err = jm_error();
    CHECK(jm_timeline_create(&timeline, file.get(), &err) == JM_OK);
    if (timeline == nullptr) return;
    std::map<std::string, int> counts;
    for (std::size_t i = 0; i < jm_timeline_span_count(timeline); i++) {
        const jm_timeline_span *span = jm_timeline_span_get(timeline, i);
        counts[span->name]++;
        CHECK(span->ended && span->end_ns >= span->start_ns);
        if (span->kind == JM_SPAN_STEP)
            CHECK(span->samples == 7 || (span->samples == 3 && span->tokens == 40));
        if (span->name == early.text()) CHECK(std::strcmp(span->type, "Type") == 0);
        CHECK(std::strlen(span->name) <= 4095);
    }
    CHECK(counts["phase"] == 1 && counts["step"] == 4 && counts[early.text()] == 3 && counts["back"] == 3);
    CHECK(counts["thrown through"] == 1 && counts["moved"] == 1 && counts["in its place"] == 1);
    CHECK(counts["in a vector"] == 10 && counts[""] == 1 && counts["ended elsewhere"] == 1);
    CHECK(counts["of eight threads"] == 800);
    CHECK(counts.size() == 12);
    CHECK(jm_timeline_mark_count(timeline) == 1);
    jm_timeline_free(timeline);
}

static void check_errors(const std::string &folder)
{
    const std::string missing = folder + "/missing.joulemap", nowhere = folder + "/no/such/run.joulemap";
    try {
        joulemap::recording file(missing.c_str());
        CHECK(false && "not thrown");
    } catch (const joulemap::error &failed) {
        CHECK(failed.status() == JM_NOT_FOUND && std::strstr(failed.what(), "missing.joulemap") != nullptr);
    }
    joulemap::run_options options;
    options.path = nowhere.c_str();
    try {
        joulemap::run run(options);
        CHECK(false && "not thrown");
    } catch (const joulemap::error &failed) {
        CHECK(failed.status() != JM_OK && failed.what()[0] != '\0');
    }
    jm_error err;
    joulemap::run run(options, err);
    CHECK(!run && err.status != JM_OK && err.text[0] != '\0');
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    const std::string folder = argv[1], path = folder + "/cpp.joulemap";
    CHECK(early.number() == 0); // no run yet
    CHECK(joulemap::step().id() == 0);
    joulemap::run_options options;
    options.path = path.c_str();
    options.overwrite = true;
    options.kernels = false;
    {
        joulemap::run run(options);
        CHECK(run && !run.attached());
        tell_all();
        CHECK(early.number() != 0);
        joulemap::report report = run.report(), moved = std::move(report);
        CHECK(!report && moved && moved.size() > 0 && moved.totals().total_energy_j > 0);
        CHECK(moved.json()[0] == '{' && !moved.csv().empty() && !moved.text().empty());
        try {
            moved.sum("no such row");
            CHECK(false && "not thrown");
        } catch (const joulemap::error &failed) {
            CHECK(failed.status() == JM_USAGE);
        }
    } // ends the run: the file is whole
    CHECK(joulemap::step().id() == 0);
    const joulemap::recording file(path.c_str());
    CHECK(file.damage() == nullptr && file.report().size() > 0);
    check_spans(file);
    check_errors(folder);
    return faults == 0 ? 0 : 1;
}
