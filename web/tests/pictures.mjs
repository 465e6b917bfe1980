// Pictures of the page and of a served one, docs/pictures/page-*.png and view*.png: npm run pictures. With a folder as argument, of every view, light and
// dark, wide and narrow, into that folder: to be looked at.
import { join } from "node:path";
import { mkdirSync } from "node:fs";
import { launch, openPage, openServed } from "./browser.mjs";
import { joulemap, pageOf, picturesFolder, recordFor, recording, recordingOfPhases, run, serve } from "./pages.mjs";

const browser = await launch();

/** @param {string[]} ids of the sections in the picture; none: from the top, as high as the window */
async function picture(
    file,
    out,
    { ids = [], width = 1100, height = 780, colorScheme = "light", before = async () => undefined } = {},
) {
    const { page, close } = await openPage(browser, file, { viewport: { width, height }, colorScheme });
    await before(page);
    await page.waitForTimeout(400);
    if (ids.length === 0) {
        await page.screenshot({ path: out });
    } else {
        await page.locator(".nav").evaluate((nav) => nav.remove());
        const boxes = [];
        for (const id of ids) boxes.push(await page.locator(`#${id}`).boundingBox());
        const top = Math.min(...boxes.map((box) => box.y));
        const bottom = Math.max(...boxes.map((box) => box.y + box.height));
        await page.screenshot({ path: out, fullPage: true, clip: { x: 0, y: top, width, height: bottom - top } });
    }
    await close();
}

function two() {
    const phases = ["load", "train", "train on", "validate"];
    return [recordingOfPhases("base", phases, 300), recordingOfPhases("fused", [...phases, "test"], 260)];
}

async function compared() {
    const [a, b] = two();
    const out = a.replace("base.joulemap", "diff.html");
    joulemap("diff", a, b, "--by", "phase", "--html", out);
    return out;
}

/** A served page, as high as the window. */
async function served(address, out, { shown = "", width = 1920, height = 1080, colorScheme = "light", before } = {}) {
    const { page, close } = await openServed(browser, address, shown, { viewport: { width, height }, colorScheme });
    await page.waitForFunction(() => document.querySelector(".state").textContent === "", undefined, {
        timeout: 60000,
    });
    await before?.(page);
    await page.waitForTimeout(400);
    await page.screenshot({ path: out });
    await close();
}

async function servedPictures(docs) {
    const training = await serve(run("llama"));
    const detail = "#phase=train&from=27&to=29.96&layer=model.layers.*.mlp";
    await served(training.address, join(docs, "view.png"), { shown: detail, height: 1500 });
    await served(training.address, join(docs, "view-dark.png"), { shown: detail, colorScheme: "dark", height: 1500 });
    await served(training.address, join(docs, "view-phone.png"), { shown: detail, width: 390, height: 1400 });
    await served(training.address, join(docs, "view-search.png"), {
        shown: "#phase=train",
        width: 1280,
        height: 420,
        before: async (page) => {
            await page.getByRole("searchbox", { name: "Find in the graph" }).fill("attn");
            await page.locator("#flame").evaluate((flame) => flame.scrollIntoView({ behavior: "instant" }));
        },
    });
    await training.end();
    const ranks = await serve(run("pair"));
    const { page, close } = await openServed(browser, ranks.address);
    const rank = await page.getByRole("combobox", { name: "Process" }).locator("option").nth(1).getAttribute("value");
    await close();
    await served(ranks.address, join(docs, "view-rank.png"), { shown: `#process=${rank}`, width: 1280, height: 800 });
    await ranks.end();
    const both = await serve(...two());
    await served(both.address, join(docs, "view-diff.png"), { shown: "#by=phase", width: 1280, height: 860 });
    await both.end();
    const { path, ended } = recordFor("growing", 14);
    await new Promise((done) => setTimeout(done, 5000));
    const growing = await serve(path);
    await served(growing.address, join(docs, "view-live.png"), {
        width: 1280,
        height: 760,
        before: (page) => page.locator(".live").waitFor(),
    });
    await ended;
    await growing.end();
}

const live = pageOf(recording("live"));
const zoomed = async (page) => {
    await page.locator("#power .chart").focus();
    for (const key of ["+", "+", "+"]) await page.keyboard.press(key);
};
const folder = process.argv[2];
if (folder === undefined) {
    const docs = picturesFolder();
    await picture(live, join(docs, "page.png"), { width: 1400, height: 960 });
    await picture(live, join(docs, "page-dark.png"), { ids: ["power", "flame"], colorScheme: "dark" });
    await picture(live, join(docs, "page-tables.png"), { ids: ["table", "idle"], width: 800 });
    await picture(live, join(docs, "page-steps.png"), { ids: ["steps"], width: 800 });
    await servedPictures(docs);
} else {
    mkdirSync(folder, { recursive: true });
    const pages = { live, kernels: pageOf(recording("kernels")), diff: await compared() };
    const ids = {
        live: ["summary", "power", "flame", "table", "idle", "kernels", "steps", "run"],
        kernels: ["summary", "power", "flame", "kernels"],
        diff: ["diff", "summary"],
    };
    for (const colorScheme of ["light", "dark"])
        for (const width of [1280, 800])
            for (const [name, file] of Object.entries(pages))
                for (const id of ids[name])
                    await picture(file, join(folder, `${name}-${id}-${width}-${colorScheme}.png`), {
                        ids: [id],
                        width,
                        colorScheme,
                    });
    await picture(live, join(folder, "live-zoomed.png"), { ids: ["power"], before: zoomed });
}
await browser.close();
