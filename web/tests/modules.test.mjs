// What the page computes, apart from any browser.
import assert from "node:assert/strict";
import { test } from "node:test";
import { load } from "./modules.mjs";

const format = await load("format");
const tree = await load("tree");
const flame = await load("flame_data");
const range = await load("range");
const series = await load("series");
const cap = await load("cap_data");
const scope = await load("scope");
const layer = await load("layer");

/** Lines with what these tests look at: [name, depth, energy, own energy]. */
function lines(...rows) {
    const all = (value) => rows.map(() => value);
    const energy = rows.map(([, , j]) => j);
    const own = rows.map((row) => row[3] ?? row[2]);
    const total = rows.filter(([, depth]) => depth === 0).reduce((sum, [, , j]) => sum + (j ?? 0), 0);
    return {
        name: rows.map(([name]) => name),
        path: all(null),
        short: all(null),
        says_kind: all(false),
        kind: all("forward"),
        type: all(""),
        boards: all("0"),
        depth: rows.map(([, depth]) => depth),
        x: all(1),
        calls: all(10),
        busy_s: energy.map((j) => (j ?? 0) / 100),
        energy_j: energy,
        low_j: energy.map((j) => (j === null ? null : 0.9 * j)),
        high_j: energy.map((j) => (j === null ? null : 1.1 * j)),
        own_j: own,
        forward_share: all(null),
        backward_share: all(null),
        mostly_in: all(null),
        mostly_before: all(null),
        mostly_share: all(null),
        power_w: all(100),
        share: energy.map((j) => (j === null ? null : j / total)),
        known: all("fitted"),
        area_j: own.map((j) => Math.max(0, j ?? 0)),
        area_s: own.map((j) => Math.max(0, j ?? 0) / 100),
        left_out: { rows: 0, energy_j: 0, area_j: 0, area_s: 0 },
    };
}

const model = lines(
    ["model", 0, 100, 10],
    ["attn", 1, 30, 30],
    ["mlp", 1, 60, 20],
    ["up", 2, 40, 40],
    ["(idle)", 0, 20, 20],
);

test("figures read as in the tables of the command", () => {
    assert.equal(format.energyWithin(6855.2, 6796, 6914), "6.855 ±0.059 kJ");
    assert.equal(format.energy(36.01), "36.01 J");
    assert.equal(format.energy(0), "0 J");
    assert.equal(format.half(565.3, 512, 618), "9 %");
    assert.equal(format.half(6855, 6796, 6914), "0.9 %");
    assert.equal(format.half(0.001, -5, 5), "> 999 %");
    assert.equal(format.time(4.6371), "4.64 s");
    assert.equal(format.time(56.8e-6), "56.8 us");
    assert.equal(format.share(0.0824), "8.2 %");
    assert.equal(format.change(-0.088, -0.096, -0.08), "-8.8 ±0.8 %");
    const scale = format.scaleFor(6130);
    assert.equal(`${format.inScale(6130.2, scale)} ${scale.unit}`, "6130.2 J");
    assert.equal(format.inScale(-0.0001, scale), "0.0");
});

test("what is missing is said to be, never 0", () => {
    for (const show of [format.energy, format.time, format.watts, format.share, format.count, format.megahertz])
        assert.equal(show(null), "-");
    assert.equal(format.half(100, null, null), "-");
    assert.equal(format.energyWithin(100, null, 110), "100.0 J");
    assert.equal(format.energyWithin(null, null, null), "-");
});

test("long names keep beginning and end", () => {
    const name = "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT";
    assert.equal(format.middleCut(name, 30), "nvjet_sm90_tst_256…pA_bias_TNT");
    assert.equal(format.middleCut(name, 30).length, 30);
    assert.equal(format.middleCut("short", 30), "short");
});

test("sorting keeps children with their parents and what is missing last", () => {
    const some = lines(["a", 0, 10], ["a1", 1, 4], ["a2", 1, 6], ["b", 0, null], ["c", 0, 30]);
    const whole = tree.treeOf(some);
    const names = (down) => tree.shown(whole, new Set([0]), null, "energy_j", down).map((i) => some.name[i]);
    assert.deepEqual(names(true), ["c", "a", "a2", "a1", "b"]);
    assert.deepEqual(names(false), ["a", "a1", "a2", "c", "b"]);
});

test("a search shows what it found and all around it", () => {
    const hits = tree.found(tree.treeOf(model), "UP forward");
    assert.deepEqual([...hits].sort(), [0, 2, 3]);
    assert.equal(tree.found(tree.treeOf(model), "nothing").size, 0);
});

test("what matters is open from the start", () => {
    assert.deepEqual([...tree.usuallyOpen(tree.treeOf(model))], [0, 2]);
});

test("areas of a flame graph add up to the whole, deep ones to the frame around them", () => {
    const frames = flame.framesOf(model, "area_j", "all");
    assert.equal(frames.total, 120);
    assert.deepEqual(
        frames.children.map((frame) => [frame.name, frame.total]),
        [
            ["model", 100],
            ["(idle)", 20],
        ],
    );
    const deep = lines(...Array.from({ length: 300 }, (_, i) => [`l${i}`, i, 300 - i, 1]));
    let [depth, at] = [0, flame.framesOf(deep, "area_j", "all")];
    assert.equal(at.total, 300);
    for (; at.children.length > 0; at = at.children[0]) depth++;
    assert.ok(depth < 50, String(depth));
});

test("left out rows have a frame of their own", () => {
    const frames = flame.framesOf(
        { ...model, left_out: { rows: 7, energy_j: 5, area_j: 5, area_s: 1 } },
        "area_j",
        "all",
    );
    assert.equal(frames.total, 125);
    assert.equal(frames.children.at(-1).name, "7 smaller rows");
});

test("a zoom stays within the whole, around the point that it is made at", () => {
    const whole = { from: 10, to: 20 };
    assert.deepEqual(range.zoomed(whole, 0.5, 12, whole), { from: 11, to: 16 });
    assert.deepEqual(range.zoomed({ from: 11, to: 16 }, 4, 12, whole), whole);
    assert.deepEqual(range.moved({ from: 18, to: 19 }, 5, whole), { from: 19, to: 20 });
    const { from, to } = range.zoomed(whole, 1e-9, 15, whole);
    assert.ok(to - from >= 10 / 2000 && from >= 10 && to <= 20);
    assert.equal(range.keyed("a", whole, whole), null);
    assert.deepEqual(range.keyed("Home", { from: 12, to: 13 }, whole), whole);
});

test("an interval of power has the energy of its bins with readings", () => {
    const board = {
        index: 0,
        name: "",
        seen_s: [1, 1, 0, 0.5],
        mean_w: [100, 200, null, 300],
        least_w: [90, 190, null, 290],
        most_w: [110, 210, null, 310],
        clock_mhz: [null, null, null, null],
    };
    const times = [0.5, 1.5, 2.5, 3.5];
    assert.deepEqual(series.intervalOf(board, times, { from: 1, to: 4 }), {
        mean_w: 350 / 1.5, // the last bin was seen for half of its time
        least_w: 190,
        most_w: 310,
        clock_mhz: null,
        energy_j: 350,
    });
    assert.equal(series.intervalOf(board, times, { from: 2, to: 3 }).energy_j, null);
});

test("names of bands that overlap stand in lines of their own", () => {
    const bands = [
        [0, 10],
        [2, 4],
        [3, 5],
        [4, 6],
        [10, 12],
    ].map(([from_s, to_s]) => ({ from_s, to_s }));
    assert.deepEqual(series.lanesOf(bands), [0, 1, 2, 1, 0]);
});

test("steps that are worth a look: the first, the least, the middle, the most", () => {
    const steps = { energy_j: [9, 3, null, 5, 4] };
    assert.deepEqual(
        series.notable(steps).map(({ what, at }) => [what, at]),
        [
            ["first", 0],
            ["least", 1],
            ["median", 4],
            ["most", 0],
        ],
    );
    assert.deepEqual(series.notable({ energy_j: [null] }), []);
});

test("a search for a power cap is told in a sentence, with its trials by number", () => {
    const prediction = (watts, share) => ({
        cap_w: watts,
        time: [share, 0.98 * share, 1.02 * share],
        energy: [share, 0.5 * share, 1.5 * share],
        edp: [1, 1, 1],
        ed2p: [1, 1, 1],
    });
    const search = {
        objective: "ed2p",
        verdict: "better",
        reference_w: 700,
        chosen_w: 500,
        saving: [0.12, 0.11, 0.13],
        slowdown: [0.02, 0.01, 0.03],
        caps: [prediction(400, 1.2), prediction(500, 1.02), prediction(600, 1), prediction(700, 1)],
        trials: [700, 500, 400, 700, 500, 500].map((watts, i) => ({
            number: i + 1,
            stage: i < 3 ? "probe" : "proof",
            cap_w: watts,
        })),
    };
    assert.equal(cap.sentence(search), "500 W is better than 700 W: energy -12.0 ±1.0 % (95 %), time +2.0 ±1.0 %.");
    assert.match(cap.sentence({ ...search, saving: null }), /not proven/);
    assert.match(cap.sentence({ ...search, verdict: "maybe better" }), /may be better/);
    assert.match(
        cap.sentence({ ...search, verdict: "no difference" }),
        /no difference to this work: it stays at 700 W/,
    );
    assert.match(cap.sentence({ ...search, verdict: "as it is" }), /No other cap/);
    const rows = cap.tried(search);
    assert.deepEqual(
        rows.map(({ cap, numbers, proof }) => [cap.cap_w, cap.time[0], numbers, proof]),
        [
            [700, 1, [1], 1],
            [500, 1.02, [2], 2],
            [400, 1.2, [3], 0],
        ],
    );
    assert.equal(cap.ranges([2, 5, 6, 7, 9]), "2, 5 to 7, 9");
    assert.equal(cap.shareWithin([1.02, 1, 1.04]), "102.0 ±2.0 %");
    assert.equal(cap.shareWithin([1, 0.5, 1.5]), "50 to 150 %");
    assert.equal(cap.shareWithin([1, 1, 1]), "100.0 %");
});

test("what is shown is in the address, and read back from it", () => {
    const some = { ...scope.WHOLE, phase: "a & b#", from: 1.25, to: 2, board: 0, layer: "model.layers.*.mlp" };
    const text = scope.formatScope(some);
    assert.deepEqual(scope.parseScope(text), some);
    assert.equal(scope.formatScope(scope.WHOLE), "#");
    assert.deepEqual(scope.parseScope(""), scope.WHOLE);
    assert.deepEqual(scope.parseScope("#from=2&to=1&process=x&board=&by="), scope.WHOLE);
    assert.equal(scope.queryOf(some, "kernels").includes("layer="), false);
    assert.equal(new URLSearchParams(scope.queryOf(some, "layer").split("?")[1]).get("layer"), some.layer);
    assert.ok(scope.sameFigures(some, { ...some, layer: null }));
    assert.ok(!scope.isWhole(some) && scope.isWhole({ ...scope.WHOLE, by: "kernel", layer: "x" }));
});

test("a search adds up what it found, and nothing twice", () => {
    const some = lines(["mlp", 0, 60, 20], ["mlp.up", 1, 40, 40], ["attn", 0, 30], ["mlp", 0, null]);
    assert.deepEqual(flame.sumOf(some, "attn"), { rows: 1, energy_j: 30, seconds: 0.3 });
    assert.deepEqual(flame.sumOf(lines(["mlp", 0, 60, 20], ["mlp.up", 1, 40, 40]), "MLP"), {
        rows: 1,
        energy_j: 60,
        seconds: 0.6,
    });
    assert.equal(flame.sumOf(some, "mlp").energy_j, null, "what is not known makes the sum unknown");
    assert.equal(flame.sumOf(some, "none").rows, 0);
});

test("the change of equal layers is that of their sum", () => {
    const some = { ...lines(["l.*", 0, 60], ["l.0", 0, 30], ["new", 0, 5]), x: [2, 1, 1] };
    const row = (path, a, b) => ({
        path,
        kind: "forward",
        a_j: a,
        b_j: b,
        change: a > 0 && b !== null ? b / a - 1 : null,
    });
    const changes = flame.changesOf({ rows: [row("l.0", 20, 30), row("l.1", 20, 30), row("new", null, 5)] }, some);
    assert.deepEqual([0, 1, 2].map(changes), [0.5, 0.5, null]);
    assert.ok(flame.patternOf("a.*.b").test("a.1(x).b") && !flame.patternOf("a.*.b").test("a.1.c"));
});

test("by its time alone a layer would take its share of the work's time", () => {
    const some = { ...lines(["a", 0, 90], ["b", 0, 10], ["(idle)", 0, 50]), kind: ["forward", "forward", "idle"] };
    some.busy_s = [5, 5, 20];
    assert.equal(layer.byTimeAlone(some, 5), 50);
});
