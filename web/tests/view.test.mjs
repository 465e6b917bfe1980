// The page that `joulemap view` serves: it computes anew, follows a run, and keeps what is shown in its address.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, openPage, openServed } from "./browser.mjs";
import {
    canServe,
    folder,
    joulemap,
    recordFor,
    recording,
    recordingOfAMillionKernels,
    recordingOfPhases,
    run,
    serve,
} from "./pages.mjs";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const skip = canServe() ? false : "built without joulemap-view";

let browser;
let server;
let llama;
before(async () => {
    browser = await launch();
    llama = run("llama");
    if (!skip) server = await serve(llama);
});
after(async () => {
    await server?.end();
    await browser.close();
});

/** A test with the page of a training, which must end without a complaint. */
function onView(name, { shown = "", ...options }, body) {
    test(name, { skip }, async () => {
        const { page, complaints, close } = await openServed(browser, server.address, shown, options);
        await settled(page);
        await body(page);
        assert.deepEqual(complaints, []);
        await close();
    });
}

/** Waits until what was asked for is here. */
async function settled(page) {
    await page.waitForFunction(
        () => !document.querySelector("main").hidden && document.querySelector(".state").textContent === "",
        undefined,
        { timeout: 60000 },
    );
}

const energyOf = (page) => page.locator("#summary .figure dd").first().textContent();
const report = (...words) => JSON.parse(joulemap("report", llama, ...words, "--json"));
const data = async (words) => (await fetch(`${server.address}data?${new URLSearchParams(words)}`)).json();

/** "1.340 ±0.014 kJ" in joules. */
function joules(text) {
    const [, value, unit] = /^([\d.]+) ±[\d.]+ (mJ|J|kJ)/.exec(text);
    return Number(value) * { mJ: 1e-3, J: 1, kJ: 1e3 }[unit];
}

async function brush(page, from, to) {
    await page.locator("#power .u-over").scrollIntoViewIfNeeded();
    const box = await page.locator("#power .u-over").boundingBox();
    await page.mouse.move(box.x + from * box.width, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + to * box.width, box.y + 60, { steps: 4 });
    await page.mouse.up();
}

async function drag(page, from, to) {
    await brush(page, from, to);
    await page.locator(".chip", { hasText: " s" }).waitFor();
    await settled(page);
}

onView("a brush restricts all panes to its time, and a reload keeps it", {}, async (page) => {
    const whole = { energy: await energyOf(page), rows: await page.locator("#table tbody").textContent() };
    const kernels = await page.locator("#kernels tbody").textContent();
    await drag(page, 0.75, 0.8);
    const [, from, to] = /#from=([\d.]+)&to=([\d.]+)$/.exec(page.url()).map(Number);
    const energy = await energyOf(page);
    assert.notEqual(energy, whole.energy);
    assert.notEqual(await page.locator("#table tbody").textContent(), whole.rows);
    assert.notEqual(await page.locator("#kernels tbody").textContent(), kernels);
    const { rows, summary } = (await data({ from, to })).runs[0];
    assert.ok(Math.abs(summary.duration_s - (to - from)) < 1e-3);
    const own = rows.own_j.reduce((sum, value) => sum + value, 0);
    assert.ok(Math.abs(own - summary.total_energy_j) < 1e-5 * summary.total_energy_j);
    assert.ok(Math.abs(joules(energy) - summary.total_energy_j) < 1);
    /* the chart's own bins say the same, without the fit */
    const bins = /([\d.]+) (J|kJ)$/.exec(await page.locator("#power .readout").textContent());
    const binned = Number(bins[1]) * (bins[2] === "kJ" ? 1e3 : 1);
    assert.ok(Math.abs(binned - summary.total_energy_j) < 0.02 * summary.total_energy_j, `${binned} ${own}`);
    await page.reload();
    await page.locator("#summary .figure").first().waitFor();
    await settled(page);
    assert.equal(await energyOf(page), energy);
    assert.ok((await page.locator("#power .u-select").boundingBox()).width > 20);
    await page.getByRole("button", { name: "The whole run" }).click();
    await settled(page);
    assert.equal(await energyOf(page), whole.energy);
    await page.goBack();
    await settled(page);
    assert.equal(await energyOf(page), energy);
});

onView("a phase has the figures of `report --phase`", {}, async (page) => {
    await page.getByRole("combobox", { name: "Phase" }).selectOption("train");
    await page.waitForFunction(() => location.hash === "#phase=train");
    await settled(page);
    const { total_energy_j } = report("--phase", "train");
    assert.ok(Math.abs(joules(await energyOf(page)) - total_energy_j) < 1);
    await page.getByRole("combobox", { name: "Rows" }).selectOption("kernel");
    await settled(page);
    assert.equal(await page.locator("#table h2").textContent(), "By kernel");
    const rows = report("--phase", "train", "--by", "kernel").rows.filter((row) => row.depth === 0);
    await page.locator("#table").getByRole("radio", { name: "the run" }).check({ force: true });
    const first = await page.locator("#table tbody tr").first().locator(".column-energy_j").textContent();
    assert.ok(Math.abs(Number(first) - Math.max(...rows.map((row) => row.energy_j))) < 0.1, first);
});

onView("a layer has its kernels and steps, which add up", { shown: "#phase=train" }, async (page) => {
    await page
        .locator("#flame g.frame")
        .filter({ has: page.locator("title", { hasText: /^mlp × 8:/ }) })
        .click({ position: { x: 5, y: 5 } });
    await page.locator("#layer tbody tr").first().waitFor();
    assert.equal(new URLSearchParams(new URL(page.url()).hash.slice(1)).get("layer"), "model.layers.*.mlp");
    const layer = await data({ part: "layer", layer: "model.layers.*.mlp", phase: "train" });
    const sum = (values) => values.reduce((all, value) => all + value, 0);
    const rows = report("--phase", "train").rows.filter((row) => /^model\.layers\.\d+\.mlp$/.test(row.path));
    const energy = sum(rows.map((row) => row.energy_j));
    assert.equal(layer.members, 8);
    assert.ok(Math.abs(layer.energy_j - energy) < 1e-5 * energy);
    assert.ok(Math.abs(sum(layer.kernels.energy_j) - energy) < 1e-4 * energy);
    assert.ok(Math.abs(sum(layer.kernels.busy_s) - sum(rows.map((row) => row.busy_s))) < 1e-5);
    assert.equal(layer.steps.energy_j.length, 50);
    assert.ok(Math.abs(sum(layer.steps.energy_j) - energy) < 0.02 * energy, `${sum(layer.steps.energy_j)} ${energy}`);
    const shown = await page.locator("#layer .figure dd").first().textContent();
    assert.ok(Math.abs(joules(shown) - energy) < 1, shown);
    assert.match(await page.locator("#layer").textContent(), /forward, backward3\d %, 6\d %/);
    assert.match(await page.locator("#layer").textContent(), /by its time alone[\d.]+ J/);
    assert.equal(await page.locator("#layer tbody").first().locator("tr").count(), layer.kernels.name.length);
});

onView("a search says what all that it found took", { shown: "#phase=train" }, async (page) => {
    await page.getByRole("searchbox", { name: "Find in the graph" }).fill("mlp");
    const { rows, total_energy_j } = report("--phase", "train");
    const energy = rows.filter((row) => row.name === "mlp").reduce((sum, row) => sum + row.energy_j, 0);
    const found = await page.locator("#flame .found").textContent();
    assert.ok(
        found.startsWith(`${energy.toPrecision(4)} J (${((100 * energy) / total_energy_j).toFixed(1)} %)`),
        found,
    );
});

onView("all of it is reached by keys", {}, async (page) => {
    await page.getByRole("combobox", { name: "Phase" }).focus();
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => location.hash === "#phase=train");
    await settled(page);
    await page.locator("#flame g.frame").first().focus();
    for (const key of ["ArrowDown", "ArrowDown", "Enter"]) await page.keyboard.press(key);
    await page.locator("#layer tbody tr").first().waitFor();
    assert.match(page.url(), /layer=model$/);
    await page.locator("#power .chart").focus();
    for (const key of ["+", "+", "Enter"]) await page.keyboard.press(key);
    await page.waitForFunction(() => location.hash.includes("from="));
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !location.hash.includes("from="));
});

onView("what is saved is the page of this choice, without a server", { shown: "#phase=train" }, async (page) => {
    const wait = page.waitForEvent("download");
    await page.getByRole("link", { name: "Save" }).click();
    const download = await wait;
    const path = join(folder, "saved.html");
    await download.saveAs(path);
    const out = join(folder, "reported.html");
    joulemap("report", llama, "--phase", "train", "--html", out);
    assert.equal(await readFile(path, "utf8"), await readFile(out, "utf8"));
    const saved = await openPage(browser, path);
    assert.equal(await energyOf(saved.page), await energyOf(page));
    assert.deepEqual(saved.complaints, []);
    await saved.close();
});

test("a rank is one process of several", { skip }, async () => {
    const path = run("pair");
    const pair = await serve(path);
    const { page, complaints, close } = await openServed(browser, pair.address);
    await settled(page);
    const names = await page.getByRole("combobox", { name: "Process" }).locator("option").allTextContents();
    const rank = names.find((text) => text.startsWith("rank 1"));
    await page.getByRole("combobox", { name: "Process" }).selectOption({ label: rank });
    await page.waitForFunction(() => location.hash.startsWith("#process="));
    await settled(page);
    const pid = new URL(page.url()).hash.split("=")[1];
    const { steps } = JSON.parse(joulemap("report", path, "--process", pid, "--json"));
    const shown = await page.locator("#summary").textContent();
    assert.ok(steps > 0 && (await energyOf(page)) !== "-", shown);
    assert.ok((await page.getByRole("combobox", { name: "GPU" }).locator("option").count()) === 3);
    await page.getByRole("combobox", { name: "GPU" }).selectOption("1");
    await page.waitForFunction(() => location.hash.includes("board=1"));
    await settled(page);
    const { total_energy_j } = JSON.parse(joulemap("report", path, "--process", pid, "--board", "1", "--json"));
    assert.ok(Math.abs(joules(await energyOf(page)) - total_energy_j) < 1);
    assert.deepEqual(complaints, []);
    await close();
    await pair.end();
});

test("the page follows a run, for two viewers, and stays when it has ended", { skip }, async () => {
    const { path, ended } = recordFor("growing", 12);
    let live;
    for (let i = 0; live === undefined && i < 50; i++) {
        await new Promise((done) => setTimeout(done, 200));
        live = await serve(path).catch(() => undefined); /* the file is not there yet */
    }
    const viewers = [await openServed(browser, live.address), await openServed(browser, live.address)];
    const isOver = (page, seconds) =>
        page.waitForFunction(
            (least) => {
                const [, value, unit] = /^([\d.]+) (ms|s)/.exec(
                    document.querySelectorAll("#summary .figure dd")[1].textContent,
                );
                return Number(value) * (unit === "s" ? 1 : 1e-3) > least;
            },
            seconds,
            { timeout: 20000 },
        );
    for (const { page } of viewers) await page.locator(".live").waitFor();
    await viewers[0].page.locator("#flame g.frame").nth(1).focus();
    for (const seconds of [4, 6, 8]) await isOver(viewers[0].page, seconds);
    assert.equal(await viewers[0].page.evaluate(() => document.activeElement.matches("g.frame")), true);
    await ended;
    for (const viewer of viewers) {
        await viewer.page.locator(".live").waitFor({ state: "hidden" });
        await isOver(viewer.page, 11.9);
        assert.deepEqual(viewer.complaints, []);
        await viewer.close();
    }
    await live.end();
});

test("two recordings: what changed, in the graph and as J, ms and W", { skip }, async () => {
    const a = recordingOfPhases("before", ["train", "validate"], 300);
    const b = recordingOfPhases("after", ["train", "validate"], 400);
    const both = await serve(a, b);
    const { page, complaints, close } = await openServed(browser, both.address, "#by=phase");
    await settled(page);
    assert.equal(await page.title(), "before and after · joulemap");
    assert.match(
        await page.locator("#diff tbody.total").textContent(),
        /600\.0 ±[\d.]+ J800\.0 ±[\d.]+ J\+33\.\d ±[\d.]+ %2\.00 s2\.00 s300 W400 Wmore/,
    );
    const fill = await page
        .locator("#flame g.frame")
        .filter({ has: page.locator("title", { hasText: /^train:/ }) })
        .locator("rect")
        .getAttribute("fill");
    assert.equal(fill, "#dd8a3f", "a third more has the strongest colour");
    await page.evaluate(await readFile(AXE, "utf8"));
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(
        violations.map(({ id }) => id),
        [],
    );
    assert.deepEqual(complaints, []);
    await close();
    await both.end();
});

onView(
    "a phone shows it without sideways scrolling",
    { shown: "#phase=train&layer=model.layers.*.mlp", viewport: { width: 390, height: 844 } },
    async (page) => {
        await page.locator("#layer tbody tr").first().waitFor();
        await page.locator("details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
    },
);

onView("a wide window is used", { viewport: { width: 1920, height: 1080 } }, async (page) => {
    assert.ok((await page.locator("#flame .flame").boundingBox()).width > 1850);
    const [rows, kernels] = [await page.locator("#table").boundingBox(), await page.locator("#kernels").boundingBox()];
    assert.ok(kernels.x > rows.x + rows.width - 1, "tables stand beside each other");
});

for (const colorScheme of ["light", "dark"])
    onView(
        `nothing keeps anybody out (axe), ${colorScheme}`,
        { shown: "#phase=train&layer=model", colorScheme },
        async (page) => {
            await page.locator("#layer tbody tr").first().waitFor();
            await page.locator("details").evaluateAll((all) => all.forEach((details) => (details.open = true)));
            await page.evaluate(await readFile(AXE, "utf8"));
            const { violations } = await page.evaluate(() =>
                window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
            );
            assert.deepEqual(
                violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]),
                [],
            );
            const [background] = await page
                .locator("body")
                .evaluate((body) => getComputedStyle(body).backgroundColor.match(/\d+/g).map(Number));
            assert.ok(colorScheme === "dark" ? background < 60 : background > 200);
        },
    );

onView("print is without controls", { shown: "#phase=train" }, async (page) => {
    await page.emulateMedia({ media: "print" });
    for (const what of [".asking", "nav", "#flame .controls"])
        assert.equal(await page.locator(what).isVisible(), false);
    assert.ok(await page.locator("#table table").isVisible());
    assert.ok((await page.pdf()).length > 10_000);
});

test("what cannot be answered is said, and the figures stay", { skip }, async () => {
    const { page, close } = await openServed(browser, server.address);
    await settled(page);
    const energy = await energyOf(page);
    await page.evaluate(() => {
        history.pushState(null, "", "#phase=nothing");
        dispatchEvent(new PopStateEvent("popstate"));
    });
    await page.locator(".state", { hasText: 'no phase "nothing"; this recording has: train' }).waitFor();
    assert.equal(await energyOf(page), energy);
    await close();
});

test("a million kernels: the first paint, and figures of a brush", { skip }, async () => {
    const many = await serve(recordingOfAMillionKernels());
    await fetch(`${many.address}data`); /* the whole run, which the server keeps */
    const { page, complaints, close } = await openServed(browser, many.address);
    const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0].startTime);
    const bytes = (await (await fetch(`${many.address}data`)).arrayBuffer()).byteLength;
    await settled(page);
    const energy = await energyOf(page);
    const begin = Date.now();
    await brush(page, 0.5, 0.6);
    await page.waitForFunction((was) => document.querySelector("#summary .figure dd").textContent !== was, energy, {
        timeout: 60000,
    });
    console.log(
        `# ${bytes} bytes of data; first paint ${paint.toFixed(0)} ms, brush to figures ${Date.now() - begin} ms`,
    );
    assert.ok(bytes < 5e6, String(bytes));
    assert.deepEqual(complaints, []);
    await close();
    await many.end();
});
