// joulemap for C++11 and newer: RAII classes for spans, recordings and reports. Header only, over the C
// interface (joulemap/joulemap.h), which is the reference. Link libjoulemap.
//
//     joulemap::run run;                        // boards are read from here on; throws joulemap::error
//     for (...) {
//         joulemap::step step(batch_size);      // ends with its scope
//         joulemap::forward layer("net.conv1", "Conv");
//         launch_kernels();
//     }
//     std::cout << run.report().text();         // joules per layer
//
// Units: times are CLOCK_MONOTONIC in nanoseconds, energies joules, powers watts.
// Errors: functions throw joulemap::error (with -fno-exceptions they abort: use the forms with a jm_error,
// which never throw). Spans, marks and all destructors are noexcept: a span that does not fit into
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

// A failure: what() is the sentence with its cure. The code of the other library (errno, NVML, SQLite) and
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

// A name that is looked up once: keep one (`static const joulemap::name conv("net.conv1");`) for spans that
// begin often. UTF-8, cut at 4095 bytes. It may be made before a run.
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

// A span that ends with its scope. A default-constructed one is none.
class span
{
  public:
    span() noexcept : id_(0) {}
    // `text`, `type`: looked up at each call (a lock); in a hot loop use the other form. nullptr is "".
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

    // End before the scope does. A second call does nothing.
    void end() noexcept
    {
        jm_span_end(id_);
        id_ = 0;
    }
    // The same for a step whose samples or tokens are known only at its end; 0: unknown.
    void end(std::uint32_t samples, std::uint32_t tokens = 0) noexcept
    {
        jm_span_end_counted(id_, samples, tokens);
        id_ = 0;
    }
    // 0: not recorded.
    jm_span_id id() const noexcept { return id_; }

  private:
    jm_span_id id_;
};

// A phase of the program: "train", "evaluate". It contains the work of all threads.
class phase : public span
{
  public:
    explicit phase(const char *text) noexcept : span(JM_SPAN_PHASE, text) {}
    explicit phase(const name &text) noexcept : span(JM_SPAN_PHASE, text) {}
};

// An iteration of the main loop, of `samples` samples (0: unknown): reports are then per step and sample.
class step : public span
{
  public:
    explicit step(std::uint32_t samples = 0) noexcept : span(JM_SPAN_STEP, "step", nullptr, samples) {}
    explicit step(const name &text, std::uint32_t samples = 0) noexcept : span(JM_SPAN_STEP, text, samples) {}
};

// A part of the program. `text`: its path, with dots ("solver.factor"); `type`: its class of work ("Factor"),
// for which power is fitted if kernels are not traced.
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

// Options of a report; defaults are as in C. Texts must outlive the call.
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
    // Parents come before their children. Rows live as long as the report. `row` must be below size().
    const jm_row &operator[](std::size_t row) const noexcept { return *jm_report_row(at_.get(), row); }
    const jm_report_totals &totals() const noexcept { return *jm_report_totals_get(at_.get()); }
    const jm_report_quality &quality() const noexcept { return *jm_report_quality_get(at_.get()); }

    // Joules of all rows that match a pattern ("*.self_attn"), with their 95 % interval.
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
    // A sentence on what is missing; nullptr if it is complete.
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

// Options of a run; kernels are traced by default. Texts must outlive the call.
struct run_options : jm_run_options {
    run_options() noexcept : jm_run_options()
    {
        size = sizeof(jm_run_options);
        kernels = true;
    }
};

// Records until the end of its scope. Under `joulemap record` it joins that recording.
class run
{
  public:
    // In memory, or into options.path. NO_DEVICE: there is no board, and none is simulated.
    explicit run(const run_options &options = run_options())
    {
        jm_error err = jm_error();
        detail::check(start(options, err), err);
    }
    // Never throws: `err.status` is the result, and a run that did not start is false.
    run(const run_options &options, jm_error &err) noexcept
    {
        err = jm_error();
        err.status = start(options, err);
    }

    explicit operator bool() const noexcept { return at_.get() != nullptr; }
    // It belongs to a recorder in a parent process, which reads the boards.
    bool attached() const noexcept { return jm_run_attached(at_.get()); }
    // A sentence on why kernels are not traced; nullptr if they are.
    const char *kernels_missing() const noexcept { return jm_run_kernels_missing(at_.get()); }
    // Set what is recorded from now on (joulemap/run.h).
    void trace(jm_tracing tracing) noexcept { jm_run_trace(at_.get(), tracing); }

    // Wait until everything before this call is in the recording. BUSY: timeout.
    void flush(std::chrono::milliseconds timeout = std::chrono::milliseconds(2000))
    {
        jm_error err = jm_error();
        detail::check(jm_run_flush(at_.get(), static_cast<int>(timeout.count()), &err), err);
    }
    // Joules of everything so far: flushes first.
    joulemap::report report(const report_options &options = report_options())
    {
        flush();
        jm_error err = jm_error();
        jm_recording *recording = nullptr;
        detail::check(jm_run_recording(at_.get(), &recording, &err), err);
        return joulemap::report(recording, options);
    }
    // Take last readings and close the file. The destructor does it too, but ignores errors.
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
