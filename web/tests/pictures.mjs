// Pictures of the page, docs/pictures/page-*.png: npm run pictures. With a folder as argument, of every view, light and
// dark, wide and narrow, into that folder: to be looked at.
import { join } from "node:path";
import { mkdirSync } from "node:fs";
import { launch, openPage } from "./browser.mjs";
import { joulemap, pageOf, picturesFolder, recording, recordingOfPhases } from "./pages.mjs";

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

async function compared() {
    const a = recordingOfPhases("base", ["load", "train", "train on", "validate"], 300);
    const b = recordingOfPhases("fused", ["load", "train", "train on", "validate"], 260);
    const out = a.replace("base.joulemap", "diff.html");
    joulemap("diff", a, b, "--by", "phase", "--html", out);
    return out;
}

const live = pageOf(recording("live"));
const zoomed = async (page) => {
    await page.locator("#power .chart").focus();
    for (const key of ["+", "+", "+"]) await page.keyboard.press(key);
};
const folder = process.argv[2];
if (folder === undefined) {
    const docs = picturesFolder();
    await picture(live, join(docs, "page.png"));
    await picture(live, join(docs, "page-dark.png"), { ids: ["power", "flame"], colorScheme: "dark" });
    await picture(live, join(docs, "page-tables.png"), { ids: ["table", "idle"], width: 800 });
    await picture(live, join(docs, "page-steps.png"), { ids: ["steps"], width: 800 });
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
