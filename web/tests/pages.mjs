// Pages to test on, made by the built command out of recordings of the tree.
import { execFileSync, spawn } from "node:child_process";
import {
    copyFileSync,
    existsSync,
    mkdirSync,
    mkdtempSync,
    readFileSync,
    rmSync,
    statSync,
    writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../..", import.meta.url));
export const buildFolder = resolve(source, process.env.JOULEMAP_BUILD ?? "build");
export const folder = mkdtempSync(join(tmpdir(), "joulemap-page-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export function joulemap(...words) {
    return execFileSync(join(buildFolder, "joulemap"), words, {
        encoding: "utf8",
        maxBuffer: 1 << 28,
        stdio: ["ignore", "pipe", "inherit"],
    });
}

function unpacked(folderOf, name) {
    const path = join(folder, `${name}.joulemap`);
    writeFileSync(
        path,
        execFileSync("xz", ["-dc", join(source, folderOf, `${name}.joulemap.xz`)], { maxBuffer: 1 << 28 }),
    );
    return path;
}

/** A recording of tests/data/recordings. */
export function recording(name) {
    return unpacked("tests/data/recordings", name);
}

/** A run on a real GPU, of tests/data/runs. */
export function run(name) {
    return unpacked("tests/data/runs", name);
}

/** A recording that grows for so many seconds, on a simulated GPU; `ended` waits for it. */
export function recordFor(name, seconds) {
    const path = join(folder, `${name}.joulemap`);
    const recorder = spawn(
        join(buildFolder, "joulemap"),
        ["record", "--sim", "h200", "-o", path, "--", "sleep", String(seconds)],
        { stdio: "ignore" },
    );
    return { path, ended: new Promise((done) => recorder.on("exit", done)) };
}

/** Phases of these names, a second each, on an H200 that draws 300 W. */
export function recordingOfPhases(name, phases, powerW = 300) {
    const csv = (file, rows) => {
        writeFileSync(join(folder, file), `${rows.join("\n")}\n`);
        return join(folder, file);
    };
    const readings = Array.from(
        { length: phases.length * 50 + 1 },
        (_, i) => `power_ring,${(i * 0.02).toFixed(2)},${powerW}`,
    );
    const quoted = (text) => `"${text.replaceAll('"', '""')}"`;
    const parts = phases.map((phase, i) => `${quoted(phase)},${quoted(`kernel of ${phase}`)},${i},${i + 1},10`);
    const path = join(folder, `${name}.joulemap`);
    joulemap(
        "import",
        "--board",
        "h200",
        "--readings",
        csv(`${name}-readings.csv`, ["sensor,t_s,value", ...readings]),
        "--segments",
        csv(`${name}-segments.csv`, ["part,kernel,t_start_s,t_end_s,kernel_launches", ...parts]),
        "-o",
        path,
    );
    return path;
}

/** One kernel, and no sensor that tells of joules. */
export function recordingWithoutReadings() {
    const path = join(folder, "unread.joulemap");
    writeFileSync(join(folder, "unread.csv"), "t_start_s,duration_us,kernel,stream\n0.1,1000,gemm,7\n");
    joulemap("import", "--kernels", join(folder, "unread.csv"), "-o", path);
    return path;
}

/** The recording of that name, as if made for a search for a power cap on work that follows a law. */
export function recordingOfASearch(name) {
    const rows = Array.from({ length: 11 }, (_, i) => {
        const cap = 200 + 50 * i;
        const power = Math.min(cap, 600);
        return `${cap},${(10 * (0.7 + 0.3 * (600 / power) ** 0.7)).toFixed(4)},${power}`;
    });
    const sweep = join(folder, `${name}-sweep.csv`);
    writeFileSync(sweep, `cap_w,time_s,power_w\n${rows.join("\n")}\n`);
    const search = joulemap("cap", "search", "--replay", sweep, "--json");
    const path = join(folder, `${name}-search.joulemap`);
    copyFileSync(recording(name), path);
    const program =
        "import sqlite3, sys; file = sqlite3.connect(sys.argv[1]); " +
        "file.execute('insert into meta values (?, ?)', ('cap_search', sys.argv[2])); file.commit()";
    execFileSync("python3", ["-c", program, path, search]);
    return { path, search: JSON.parse(search) };
}

/** A page of a recording. */
export function pageOf(path, ...words) {
    const out = path.replace(/\.joulemap$/, `${words.join("")}.html`);
    joulemap("report", path, ...words, "--html", out);
    return out;
}

/** A recording of a million kernels, kept while bench_report has it. */
export function recordingOfAMillionKernels() {
    const out = join(folder, "million.joulemap");
    if (existsSync(out)) return out;
    const command = join(folder, "keep");
    writeFileSync(command, `#!/bin/sh\n[ -e '${out}' ] || cp "$2" '${out}'\n`, { mode: 0o755 });
    execFileSync(join(buildFolder, "bench/bench_report"), [command], {
        env: { ...process.env, JM_BENCH_KERNELS: "1000000" },
        stdio: "ignore",
    });
    return out;
}

/** Whether this build has the program that serves pages. */
export function canServe() {
    return existsSync(join(buildFolder, "joulemap-view"));
}

const servers = new Set();
process.on("exit", () => servers.forEach((server) => server.kill()));

/** `joulemap view` of recordings: its address, and how to end it. */
export async function serve(...words) {
    const server = spawn(join(buildFolder, "joulemap"), ["view", ...words, "--no-browser"], {
        stdio: ["ignore", "pipe", "inherit"],
    });
    servers.add(server);
    const address = await new Promise((found, failed) => {
        let text = "";
        server.stdout.on("data", (part) => {
            text += part;
            if (text.includes("\n")) found(text.split("\n")[0]);
        });
        server.on("exit", (code) => failed(new Error(`joulemap view ended with ${code}`)));
    });
    server.unref(); /* a test that failed leaves it */
    server.stdout.unref();
    const end = () => {
        server.removeAllListeners("exit");
        return new Promise((ended) => {
            server.ref();
            server.on("exit", ended);
            server.kill("SIGINT");
        });
    };
    return { address, end };
}

/** What stands in a page for its program. */
export function dataOf(path) {
    return JSON.parse(
        /<script id="data" type="application\/json">(.*?)<\/script>/s.exec(readFileSync(path, "utf8"))[1],
    );
}

export function sizeOf(path) {
    return statSync(path).size;
}

export function picturesFolder() {
    const path = join(source, "docs/pictures");
    mkdirSync(path, { recursive: true });
    return path;
}
