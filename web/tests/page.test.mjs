// The page in a real browser: what a person does with it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createRequire } from "node:module";
import { launch, openPage } from "./browser.mjs";
import {
    dataOf,
    joulemap,
    pageOf,
    recording,
    recordingOfAMillionKernels,
    recordingOfASearch,
    recordingOfPhases,
    recordingWithoutReadings,
    sizeOf,
} from "./pages.mjs";

const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
const ZOOM_MS = 100;
const PAGE_BYTES = 5_000_000;

let browser;
let live;
let livePage;
before(async () => {
    browser = await launch();
    live = recording("live");
    livePage = pageOf(live);
});
after(() => browser.close());

/** A test with the page of the live recording, which must end without a complaint. */
function onPage(name, options, body) {
    test(name, async () => {
        const { page, complaints, close } = await openPage(browser, livePage, options);
        await body(page);
        assert.deepEqual(complaints, []);
        await close();
    });
}

const names = (page, id) => page.locator(`#${id} tbody tr:visible th .name`).allTextContents();

onPage("the sentences of the text report stand at the top", {}, async (page) => {
    const words = joulemap("report", live).replace(/\s+/g, " ");
    const said = await page.locator("#summary .answers dd").allTextContents();
    for (const sentence of said.slice(0, 3)) assert.ok(words.includes(sentence), sentence);
    assert.match(said.join("\n"), /most of it waiting, 1 ms and more/);
    const waits = await page.locator("#idle > p").allTextContents();
    assert.match(
        waits.join("\n"),
        /^copies with no kernel beside them: .* \(counted in the rows that launched them\)$/,
    );
    for (const sentence of waits) assert.ok(words.includes(sentence), sentence);
    assert.match(await page.locator("header").textContent(), /SIMULATED GPU/);
    assert.match(await page.title(), /^live · joulemap$/);
});

onPage("rows add up to the total of the JSON report", {}, async (page) => {
    const report = JSON.parse(joulemap("report", live, "--json"));
    const { rows } = dataOf(livePage).runs[0];
    const own = rows.own_j.reduce((sum, value) => sum + value, 0);
    assert.ok(Math.abs(own - report.total_energy_j) < 1e-5 * report.total_energy_j);
    assert.deepEqual(
        rows.name,
        report.rows.map((row) => row.name),
    );
    report.rows.forEach((row, i) =>
        assert.ok(Math.abs(rows.energy_j[i] - row.energy_j) <= 1e-6 * Math.abs(row.energy_j) + 1e-9),
    );
    await page.getByRole("radio", { name: "the run" }).check({ force: true });
    const shown = await page.locator('#table tbody tr:has-text("Sequential") td:nth-child(5)').first().textContent();
    const sequential = report.rows.find((row) => row.name === "Sequential");
    assert.ok(Math.abs(Number(shown) - sequential.energy_j) < 0.06, shown);
});

onPage("a click on a heading sorts, a second one turns it around", {}, async (page) => {
    const heading = page.locator("#kernels thead").getByRole("button", { name: /^each/ });
    await heading.click();
    assert.equal(await page.locator("#kernels thead th[aria-sort='descending']").textContent(), "each ▾");
    const down = await names(page, "kernels");
    await heading.click();
    const up = await names(page, "kernels");
    assert.notEqual(down[0], up[0]);
    await page
        .locator("#kernels thead")
        .getByRole("button", { name: /^kernel/ })
        .click();
    const byName = (await names(page, "kernels")).filter(
        (name) =>
            !name.includes("waiting") &&
            !name.includes("host late") &&
            !name.includes("before") &&
            !name.includes("between"),
    );
    assert.deepEqual(
        byName,
        [...byName].sort((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)),
    );
});

onPage("a search shows rows with the words and those around them", {}, async (page) => {
    await page.getByRole("searchbox", { name: "Search layers" }).fill("waiting");
    assert.deepEqual(await names(page, "table"), ["(idle)", "waiting, 1 ms and more"]);
    assert.match(await page.locator("#table .count").textContent(), /^2 of/);
    await page.getByRole("searchbox", { name: "Search layers" }).fill("no such layer");
    assert.deepEqual(await names(page, "table"), []);
});

onPage("rows open and close, by the keyboard too", {}, async (page) => {
    const fold = page.locator("#table").getByRole("button", { name: "What is in Sequential", exact: true });
    const before = (await names(page, "table")).length;
    await fold.press("Enter");
    assert.equal(await fold.getAttribute("aria-expanded"), "false");
    assert.ok((await names(page, "table")).length < before);
    await page.keyboard.press("Enter"); /* the focus stayed */
    assert.equal((await names(page, "table")).length, before);
    const folded = before;
    await page.locator("#table").getByRole("radio", { name: "one by one" }).check({ force: true });
    assert.ok((await names(page, "table")).length > folded);
});

onPage("a time is chosen by drag and keys, and power is zoomed by wheel, keys and buttons", {}, async (page) => {
    const readout = page.locator("#power .readout");
    const whole = await readout.textContent();
    const span = async () => {
        const [from, to] = /: ([\d.]+) to ([\d.]+)/
            .exec(await readout.textContent())
            .slice(1)
            .map(Number);
        return to - from;
    };
    await page.locator("#power .u-over").scrollIntoViewIfNeeded();
    const box = await page.locator("#power .u-over").boundingBox();
    await page.mouse.move(box.x + 0.25 * box.width, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.5 * box.width, box.y + 60, { steps: 4 });
    await page.mouse.up();
    const dragged = await span();
    assert.ok(Math.abs(dragged - 0.25 * 19.8) < 0.3, String(dragged));
    assert.match(await readout.textContent(), /^Chosen/);
    assert.match(page.url(), /#from=[\d.]+&to=[\d.]+$/);
    const shade = await page.locator("#power .u-select").boundingBox();
    assert.ok(Math.abs(shade.width - 0.25 * box.width) < 3, JSON.stringify(shade));
    await page.locator("#power .chart").focus();
    await page.keyboard.press("Escape");
    assert.equal(await readout.textContent(), whole);
    await page.keyboard.press("+");
    const half = await span();
    assert.ok(Math.abs(half - 19.8 / 2) < 0.1, String(half));
    const from = await readout.textContent();
    await page.keyboard.press("ArrowRight");
    assert.notEqual(await readout.textContent(), from);
    await page.mouse.wheel(0, -300);
    await page
        .waitForFunction(
            (was) => document.querySelector("#power .readout").textContent !== was,
            await readout.textContent(),
            { timeout: 2000 },
        )
        .catch(() => undefined);
    assert.ok((await span()) < half);
    await page.locator("#power .chart").focus();
    await page.keyboard.press("Enter");
    assert.match(await readout.textContent(), /^Chosen/);
    await page.locator("#power").getByRole("button", { name: "All of the time" }).click();
    await page.locator("#power").getByRole("button", { name: "Whole run" }).click();
    assert.equal(await readout.textContent(), whole);
});

onPage("a right click lets a frame fill the width, Escape goes back", {}, async (page) => {
    const frames = page.locator("#flame .flame g.frame");
    const widths = async () =>
        frames.evaluateAll((all) => all.map((frame) => Math.round(frame.getBoundingClientRect().width)));
    const before = await widths();
    const target = frames.filter({ has: page.locator("title", { hasText: /^Sequential:/ }) });
    await target.click({ position: { x: 5, y: 5 }, button: "right" });
    await page.waitForTimeout(300);
    const [all, sequential] = await widths();
    assert.equal(sequential, all);
    const detail = await page.locator("#flame .detail").textContent();
    assert.match(detail, /^Sequential: \d\.\d+ ±0\.\d+ kJ/);
    const { energy_j } = JSON.parse(joulemap("report", live, "--json")).rows.find(({ name }) => name === "Sequential");
    assert.ok(Math.abs(1e3 * Number(detail.split(" ")[1]) - energy_j) < 1, `${detail}: ${energy_j} J`);
    await target.focus();
    await page.keyboard.press("Escape");
    await page.waitForTimeout(300);
    assert.deepEqual(await widths(), before);
    await page.keyboard.press("ArrowDown");
    assert.match(await page.locator("#flame .detail").textContent(), /\*/);
});

onPage("a click shows a layer in detail, in the address too", {}, async (page) => {
    const target = page.locator("#flame g.frame").filter({ has: page.locator("title", { hasText: /^Sequential:/ }) });
    await target.click({ position: { x: 5, y: 5 } });
    assert.match(page.url(), /#layer=Sequential$/);
    assert.match(await page.locator("#layer").textContent(), /^.*Sequential.*energy.*forward, backward/);
    assert.equal(await page.locator('#table button.name[aria-pressed="true"]').textContent(), "Sequential");
    await page.goBack();
    assert.equal(await page.locator("#layer").isVisible(), false);
    await page.locator("#table button.name").first().press("Enter");
    assert.ok(await page.locator("#layer").isVisible());
    await page.locator("#layer").getByRole("button", { name: "Close" }).click();
    assert.equal(await page.locator("#layer").isVisible(), false);
});

onPage("frames are found, summed and coloured", {}, async (page) => {
    const fills = () =>
        page.locator("#flame g.frame rect").evaluateAll((all) => all.map((rect) => rect.getAttribute("fill")).join());
    const power = await fills();
    const colours = new Set([power]);
    for (const name of ["time", "own share", "how known"]) {
        await page
            .getByRole("group", { name: "Colour" })
            .getByRole("radio", { name, exact: true })
            .check({ force: true });
        colours.add(await fills());
    }
    assert.equal(colours.size, 4);
    const known = await fills();
    await page.getByRole("searchbox", { name: "Find in the graph" }).fill("idle");
    assert.match(await fills(), /#d55fa8/);
    const { rows, total_energy_j } = JSON.parse(joulemap("report", live, "--json"));
    const { energy_j } = rows.find(({ name }) => name === "(idle)");
    const found = await page.locator("#flame .found").textContent();
    assert.ok(found.includes(`(${((100 * energy_j) / total_energy_j).toFixed(1)} %)`), found);
    await page.getByRole("searchbox", { name: "Find in the graph" }).fill("");
    assert.equal(await fills(), known);
});

onPage("steps are shown with their intervals", {}, async (page) => {
    const steps = dataOf(livePage).runs[0].steps;
    assert.equal(steps.energy_j.length, 151);
    assert.match(
        await page
            .locator("#steps tbody tr", { has: page.locator("th[scope=row]") })
            .first()
            .textContent(),
        /^first \(1\)[\d.]+ ±[\d.]+ J/,
    );
});

for (const colorScheme of ["light", "dark"]) {
    onPage(`nothing keeps anybody out (axe), ${colorScheme}`, { colorScheme }, async (page) => {
        await page.locator("details").evaluateAll((all) =>
            all.forEach((details) => {
                details.open = true;
            }),
        );
        await page.evaluate(await (await import("node:fs/promises")).readFile(AXE, "utf8"));
        const { violations } = await page.evaluate(() =>
            window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }),
        );
        assert.deepEqual(
            violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => node.html.slice(0, 160))]),
            [],
        );
    });
}

onPage("everything can be reached by Tab, and the focus is seen", {}, async (page) => {
    const reached = new Set();
    for (let i = 0; i < 90; i++) {
        await page.keyboard.press("Tab");
        reached.add(
            await page.evaluate(() => {
                const at = document.activeElement;
                const seen = getComputedStyle(
                    at.tagName === "INPUT" && at.type === "radio"
                        ? at.nextElementSibling
                        : at.querySelector("rect") && at.tagName === "g"
                          ? at.querySelector("rect")
                          : at,
                );
                const marked = seen.outlineStyle !== "none" || seen.strokeWidth === "2px";
                return `${at.closest("section")?.id ?? at.tagName} ${marked}`;
            }),
        );
    }
    for (const id of ["power", "flame", "table", "idle", "kernels"]) assert.ok(reached.has(`${id} true`), id);
    assert.ok(
        ![...reached].some((what) => what.endsWith("false") && !what.startsWith("BODY")),
        [...reached].join("; "),
    );
});

onPage("print is light, without controls, with the tables", { colorScheme: "dark" }, async (page) => {
    await page.emulateMedia({ media: "print", colorScheme: "dark" });
    assert.equal(
        await page.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor),
        "rgb(255, 255, 255)",
    );
    assert.equal(await page.locator(".controls").first().isVisible(), false);
    assert.equal(await page.locator("nav").isVisible(), false);
    assert.ok(await page.locator("#table table").isVisible());
    assert.ok((await page.pdf()).length > 10_000);
});

onPage("dark follows the system", { colorScheme: "dark" }, async (page) => {
    const light = (text) =>
        text
            .match(/\d+/g)
            .slice(0, 3)
            .reduce((sum, value) => sum + Number(value), 0);
    const style = await page
        .locator("body")
        .evaluate((body) => [getComputedStyle(body).backgroundColor, getComputedStyle(body).color]);
    assert.ok(light(style[0]) < 150 && light(style[1]) > 600, style.join(" "));
});

test("names of all kinds are shown as they are, and none of them runs", async () => {
    const hostile = [
        "</script><script>document.title='run'</script>",
        "<img src=x onerror=\"document.title='run'\">",
        "\u202egnp.exe",
        "a\u2028b \"quoted\" 'so'",
        "${1}&amp;@STYLE@",
    ];
    const path = pageOf(recordingOfPhases("hostile", hostile), "--by", "phase");
    const { page, complaints, close } = await openPage(browser, path);
    assert.equal(await page.title(), "hostile · joulemap");
    const shown = await names(page, "table");
    for (const name of hostile) assert.ok(shown.includes(name), JSON.stringify([name, shown]));
    assert.equal(await page.locator("img").count(), 0);
    assert.deepEqual(complaints, []);
    await close();
});

test("joules that no sensor told are not known, and not 0", async () => {
    const { page, complaints, close } = await openPage(browser, pageOf(recordingWithoutReadings(), "--by", "kernel"));
    assert.equal(
        await page
            .locator("#summary .figure dd")
            .first()
            .evaluate((dd) => dd.firstChild.textContent),
        "-",
    );
    const cells = await page.locator("#table tbody tr", { hasText: "gemm" }).locator("td").allTextContents();
    assert.deepEqual(cells.slice(2, 6), ["-", "-", "-", "-"], cells.join(" | "));
    assert.doesNotMatch(await page.locator("#power").textContent(), /NaN|\b0(\.0+)? [WJ]\b|null/);
    assert.deepEqual(complaints, []);
    await close();
});

test("two runs stand beside each other", async () => {
    const a = recordingOfPhases("before", ["train", "validate"], 300);
    const b = recordingOfPhases("after", ["train", "validate"], 400);
    const path = a.replace("before.joulemap", "diff.html");
    joulemap("diff", a, b, "--by", "phase", "--html", path);
    const { page, complaints, close } = await openPage(browser, path);
    assert.equal(await page.title(), "before and after · joulemap");
    assert.match(
        await page.locator("#diff tbody.total").textContent(),
        /600\.0 ±[\d.]+ J800\.0 ±[\d.]+ J\+33\.\d ±[\d.]+ %2\.00 s2\.00 s300 W400 Wmore/,
    );
    assert.ok((await page.locator("#diff tbody:not(.total) tr").count()) > 0);
    const energy = () => page.locator("#summary .figure dd").first().textContent();
    const second = await energy();
    await page.getByRole("radio", { name: "before" }).check({ force: true });
    assert.notEqual(await energy(), second);
    await page.evaluate(await (await import("node:fs/promises")).readFile(AXE, "utf8"));
    const { violations } = await page.evaluate(() => window.axe.run());
    assert.deepEqual(
        violations.map(({ id }) => id),
        [],
    );
    assert.deepEqual(complaints, []);
    await close();
});

test("a search for a power cap is a sentence, a chart and a table of what was tried", async () => {
    const { path, search } = recordingOfASearch("live");
    const { page, complaints, close } = await openPage(browser, pageOf(path));
    const caps = new Set(search.trials.map((trial) => trial.cap_w));
    assert.equal(await page.locator("#cap tbody tr").count(), caps.size);
    const chosen = await page.locator("#cap tbody tr", { hasText: "(chosen)" }).allTextContents();
    assert.equal(chosen.length, 1);
    assert.ok(chosen[0].startsWith(`${search.chosen_cap_w.toFixed(0)} W`), chosen[0]);
    assert.match(await page.locator("#cap > p").textContent(), /better than 700 W; how much it saves was not proven/);
    assert.ok((await page.locator("#cap .chart canvas").boundingBox()).height > 100);
    assert.equal(await page.locator('.nav a[href="#cap"]').count(), 1);
    await page.evaluate(await (await import("node:fs/promises")).readFile(AXE, "utf8"));
    const { violations } = await page.evaluate(() => window.axe.run("#cap"));
    assert.deepEqual(
        violations.map(({ id }) => id),
        [],
    );
    assert.deepEqual(complaints, []);
    await close();
    assert.equal(dataOf(livePage).runs[0].cap, null);
});

test("a million kernels make a page of at most 5 MB, which zooms within 100 ms", async () => {
    const path = pageOf(recordingOfAMillionKernels());
    assert.ok(sizeOf(path) < PAGE_BYTES, String(sizeOf(path)));
    const { page, complaints, close } = await openPage(browser, path);
    /** From the key or click to the next picture; the fastest of several, since a busy machine only adds. */
    const timed = (selector, event) =>
        page.evaluate(
            async ([selector, event]) => {
                const times = [];
                for (let i = 0; i < 9; i++) {
                    const all = document.querySelectorAll(selector);
                    const begin = performance.now();
                    if (event !== "keydown") all[i % 2].dispatchEvent(new MouseEvent(event, { bubbles: true }));
                    else
                        all[0].dispatchEvent(new KeyboardEvent(event, { key: i % 2 === 0 ? "+" : "-", bubbles: true }));
                    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
                    times.push(performance.now() - begin);
                }
                return Math.min(...times);
            },
            [selector, event],
        );
    const power = await timed("#power .chart", "keydown");
    const flame = await timed("#flame .flame g.frame", "contextmenu");
    console.log(
        `# ${sizeOf(path)} bytes; zoom of power ${power.toFixed(0)} ms, of the flame graph ${flame.toFixed(0)} ms`,
    );
    assert.ok(power < ZOOM_MS && flame < ZOOM_MS, `${power} ms, ${flame} ms`);
    assert.deepEqual(complaints, []);
    await close();
});
