// joulemap for C++11 and newer: spans, recordings and reports that end by themselves. Header only, over the C
// interface (joulemap/joulemap.h), which stays the reference: link libjoulemap.
//
//     joulemap::run run;                        // boards are read from here on; throws joulemap::error
//     for (...) {
//         joulemap::step step(batch_size);      // what ends with its scope
//         joulemap::forward layer("net.conv1", "Conv");
//         launch_kernels();
//     }
//     std::cout << run.report().text();         // joules a layer
//
// Units: times are CLOCK_MONOTONIC in nanoseconds, energies joules, powers watts.
// Errors: what can fail throws joulemap::error (with -fno-exceptions it aborts: use the forms that take a
// jm_error, which never throw). Spans, marks and all destructors are noexcept: a span that does not fit into
// its ring is counted in the recording, and without a recording a span is a load and a branch.
// Threads: a span belongs to the thread that made it, and may end in another one. A run, a recording and a
// report are used by one thread at a time; names by any.
#ifndef JOULEMAP_HPP
#define JOULEMAP_HPP

#include <joulemap/joulemap.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace joulemap
{

// What failed: what() is the sentence with its cure. The code of the other library (errno, NVML, SQLite) and
// the call are in detail().
class error : public std::runtime_error
{
  public:
    explicit error(const jm_error &err) : std::runtime_error(sentence(err)), detail_(err) {}
    jm_status status() const noexcept { return detail_.status; }
    const jm_error &detail() const noexcept { return detail_; }

  private:
    static std::string sentence(const jm_error &err)
    {
        std::string text = err.text[0] != '\0' ? err.text : jm_status_text(err.status);
        if (err.hint[0] != '\0') text += std::string(" (") + err.hint + ")";
        return text;
    }
    jm_error detail_;
};

namespace detail
{

inline void check(jm_status status, const jm_error &err)
{
    if (status == JM_OK) return;
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
    throw error(err);
#else
    (void)err;
    std::abort();
#endif
}

// A C object and how it is freed.
template <typename T, void (*release)(T *)> class owner
{
  public:
    owner() noexcept : at_(nullptr) {}
    explicit owner(T *at) noexcept : at_(at) {}
    owner(owner &&other) noexcept : at_(other.at_) { other.at_ = nullptr; }
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) {
            reset();
            at_ = other.at_;
            other.at_ = nullptr;
        }
        return *this;
    }
    owner(const owner &) = delete;
    owner &operator=(const owner &) = delete;
    ~owner() { reset(); }
    void reset() noexcept
    {
        if (at_ != nullptr) release(at_);
        at_ = nullptr;
    }
    T *get() const noexcept { return at_; }

  private:
    T *at_;
};

// A text that the library allocated.
class c_text
{
  public:
    c_text() noexcept : at(nullptr) {}
    c_text(const c_text &) = delete;
    c_text &operator=(const c_text &) = delete;
    ~c_text() { std::free(at); }
    char *at;
};

} // namespace detail

// ---- spans

// A name that is looked up once: keep it (`static const joulemap::name conv("net.conv1");`) where a span
// begins often. UTF-8; what is longer than 4095 bytes is cut. It may be made before there is a run.
class name
{
  public:
    explicit name(std::string text) : text_(std::move(text)), number_(0) {}
    name(const name &other) : text_(other.text_), number_(other.number_.load(std::memory_order_relaxed)) {}
    name &operator=(const name &) = delete;
    const std::string &text() const noexcept { return text_; }
    // 0 while there is no run, and for "".
    jm_name number() const noexcept
    {
        jm_name known = number_.load(std::memory_order_relaxed);
        if (known == 0) {
            known = jm_name_intern(text_.c_str());
            number_.store(known, std::memory_order_relaxed);
        }
        return known;
    }

  private:
    std::string text_;
    mutable std::atomic<jm_name> number_;
};

// What ends with its scope. A default one is none.
class span
{
  public:
    span() noexcept : id_(0) {}
    // `text`, `type`: looked up at each call (a lock); of a hot loop take the other form. nullptr is "".
    // `samples`: of a step, 0 if unknown.
    explicit span(jm_span_kind kind, const char *text, const char *type = nullptr,
                  std::uint32_t samples = 0) noexcept
        : id_(jm_span_begin(kind, text == nullptr ? 0 : jm_name_intern(text),
                            type == nullptr ? 0 : jm_name_intern(type), samples))
    {
    }
    span(jm_span_kind kind, const name &text, std::uint32_t samples = 0) noexcept
        : id_(jm_span_begin(kind, text.number(), 0, samples))
    {
    }
    span(jm_span_kind kind, const name &text, const name &type, std::uint32_t samples = 0) noexcept
        : id_(jm_span_begin(kind, text.number(), type.number(), samples))
    {
    }
    span(span &&other) noexcept : id_(other.id_) { other.id_ = 0; }
    span &operator=(span &&other) noexcept
    {
        if (this != &other) {
            end();
            id_ = other.id_;
            other.id_ = 0;
        }
        return *this;
    }
    span(const span &) = delete;
    span &operator=(const span &) = delete;
    ~span() { end(); }

    // Before its scope does. A second time nothing happens.
    void end() noexcept
    {
        jm_span_end(id_);
        id_ = 0;
    }
    // The same of a step whose samples or tokens are known at its end alone; 0: unknown.
    void end(std::uint32_t samples, std::uint32_t tokens = 0) noexcept
    {
        jm_span_end_counted(id_, samples, tokens);
        id_ = 0;
    }
    // 0: nothing is recorded.
    jm_span_id id() const noexcept { return id_; }

  private:
    jm_span_id id_;
};

// An interval of the program: "train", "evaluate". It holds the work of all threads.
class phase : public span
{
  public:
    explicit phase(const char *text) noexcept : span(JM_SPAN_PHASE, text) {}
    explicit phase(const name &text) noexcept : span(JM_SPAN_PHASE, text) {}
};

// One turn of the main loop, of `samples` samples (0: unknown): reports are then a step and a sample.
class step : public span
{
  public:
    explicit step(std::uint32_t samples = 0) noexcept : span(JM_SPAN_STEP, "step", nullptr, samples) {}
    explicit step(const name &text, std::uint32_t samples = 0) noexcept : span(JM_SPAN_STEP, text, samples) {}
};

// A part of the program. `text`: its path, with dots between ("solver.factor"); `type`: what is alike
// wherever it is called ("Factor"), the unit whose power is learnt where kernels are not traced.
class forward : public span
{
  public:
    explicit forward(const char *text, const char *type = nullptr) noexcept
        : span(JM_SPAN_FORWARD, text, type)
    {
    }
    explicit forward(const name &text) noexcept : span(JM_SPAN_FORWARD, text) {}
    forward(const name &text, const name &type) noexcept : span(JM_SPAN_FORWARD, text, type) {}
};

// The backward pass of such a part.
class backward : public span
{
  public:
    explicit backward(const char *text, const char *type = nullptr) noexcept
        : span(JM_SPAN_BACKWARD, text, type)
    {
    }
    explicit backward(const name &text) noexcept : span(JM_SPAN_BACKWARD, text) {}
    backward(const name &text, const name &type) noexcept : span(JM_SPAN_BACKWARD, text, type) {}
};

// A named instant; `json`: an object as text, or nullptr. Not for a hot path.
inline void mark(const char *text, const char *json = nullptr) noexcept
{
    jm_mark(text, json);
}

inline std::int64_t now_ns() noexcept
{
    return jm_now_ns();
}

// ---- reports and recordings

// Options of a report; those that are not set are as in C. Texts must live as long as the call.
struct report_options : jm_report_options {
    report_options() noexcept : jm_report_options() { size = sizeof(jm_report_options); }
};

class report
{
  public:
    report() noexcept {} // none
    explicit report(jm_recording *recording, const report_options &options = report_options())
    {
        jm_error err = jm_error();
        jm_report *made = nullptr;
        jm_status status = jm_report_create(&made, recording, &options, &err);
        at_ = owner(made);
        detail::check(status, err);
    }

    std::size_t size() const noexcept { return jm_report_row_count(at_.get()); }
    // Parents stand before their children. They live as long as the report. `row` must be below size().
    const jm_row &operator[](std::size_t row) const noexcept { return *jm_report_row(at_.get(), row); }
    const jm_report_totals &totals() const noexcept { return *jm_report_totals_get(at_.get()); }
    const jm_report_quality &quality() const noexcept { return *jm_report_quality_get(at_.get()); }

    // Joules of all rows that a pattern matches ("*.self_attn"), with their 95 % interval.
    jm_sum sum(const char *pattern) const
    {
        jm_error err = jm_error();
        jm_sum out = jm_sum();
        std::size_t rows = 0;
        detail::check(jm_report_sum_paths(at_.get(), pattern, &out, &rows, &err), err);
        return out;
    }

    // As the command prints it, as JSON, as CSV.
    std::string text(const jm_text_options *options = nullptr) const
    {
        jm_error err = jm_error();
        detail::c_text out;
        detail::check(jm_report_text(at_.get(), options, &out.at, &err), err);
        return out.at;
    }
    std::string json() const
    {
        jm_error err = jm_error();
        detail::c_text out;
        detail::check(jm_report_json(at_.get(), &out.at, &err), err);
        return out.at;
    }
    std::string csv() const
    {
        jm_error err = jm_error();
        detail::c_text out;
        detail::check(jm_report_csv(at_.get(), &out.at, &err), err);
        return out.at;
    }

    explicit operator bool() const noexcept { return at_.get() != nullptr; }
    jm_report *get() const noexcept { return at_.get(); } // for the rest of joulemap/report.h

  private:
    typedef detail::owner<jm_report, jm_report_free> owner;
    owner at_;
};

// A file that was recorded before.
class recording
{
  public:
    explicit recording(const char *path)
    {
        jm_error err = jm_error();
        jm_recording *opened = nullptr;
        jm_status status = jm_recording_open(&opened, path, &err);
        at_ = owner(opened);
        detail::check(status, err);
    }
    // What is missing of it, a sentence; nullptr if it is whole.
    const char *damage() const noexcept { return jm_recording_damage(at_.get()); }
    joulemap::report report(const report_options &options = report_options()) const
    {
        return joulemap::report(at_.get(), options);
    }
    jm_recording *get() const noexcept { return at_.get(); } // for the rest of joulemap/recording.h

  private:
    typedef detail::owner<jm_recording, jm_recording_close> owner;
    owner at_;
};

// Options of a run; kernels are traced unless told not to. Texts must live as long as the call.
struct run_options : jm_run_options {
    run_options() noexcept : jm_run_options()
    {
        size = sizeof(jm_run_options);
        kernels = true;
    }
};

// Recording, from here to the end of its scope. Under `joulemap record` it joins that recording.
class run
{
  public:
    // In memory, or into options.path. NO_DEVICE: there is no board, and none was simulated.
    explicit run(const run_options &options = run_options())
    {
        jm_error err = jm_error();
        detail::check(start(options, err), err);
    }
    // Never throws: `err.status` says how it went, and a run that did not start is false.
    run(const run_options &options, jm_error &err) noexcept
    {
        err = jm_error();
        err.status = start(options, err);
    }

    explicit operator bool() const noexcept { return at_.get() != nullptr; }
    // It belongs to a recorder above, which has the boards.
    bool attached() const noexcept { return jm_run_attached(at_.get()); }
    // Why kernels are not traced, a sentence; nullptr if they are.
    const char *kernels_missing() const noexcept { return jm_run_kernels_missing(at_.get()); }
    // What is recorded from now on (joulemap/run.h).
    void trace(jm_tracing tracing) noexcept { jm_run_trace(at_.get(), tracing); }

    // Wait until all that happened before this call is in the recording. BUSY if it takes longer.
    void flush(std::chrono::milliseconds timeout = std::chrono::milliseconds(2000))
    {
        jm_error err = jm_error();
        detail::check(jm_run_flush(at_.get(), static_cast<int>(timeout.count()), &err), err);
    }
    // Joules of all that happened so far: flushes first.
    joulemap::report report(const report_options &options = report_options())
    {
        flush();
        jm_error err = jm_error();
        jm_recording *recording = nullptr;
        detail::check(jm_run_recording(at_.get(), &recording, &err), err);
        return joulemap::report(recording, options);
    }
    // Last readings, close the file. The destructor does it too, and says nothing of what went wrong.
    void stop()
    {
        jm_error err = jm_error();
        detail::check(jm_run_stop(at_.get(), &err), err);
    }
    jm_run *get() const noexcept { return at_.get(); } // for the rest of joulemap/run.h

  private:
    jm_status start(const run_options &options, jm_error &err) noexcept
    {
        jm_run *made = nullptr;
        jm_status status = jm_run_start(&made, &options, &err);
        at_ = owner(made);
        return status;
    }
    typedef detail::owner<jm_run, jm_run_free> owner;
    owner at_;
};

} // namespace joulemap

#endif
