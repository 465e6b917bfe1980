// A short look at both pages in a browser, for every commit; all of it is in page.test.mjs and view.test.mjs.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { CHROMIUM, launch, openPage, openServed } from "./browser.mjs";
import { buildFolder, canServe, pageOf, recording, serve } from "./pages.mjs";

const skip = !existsSync(CHROMIUM)
    ? `no ${CHROMIUM}`
    : !existsSync(buildFolder)
      ? `no ${buildFolder}`
      : !canServe()
        ? "built without joulemap-view"
        : false;

test("the page shows itself, from a file and served, and a served one follows a choice", { skip }, async () => {
    const path = recording("live");
    const browser = await launch();
    const server = await serve(path);
    const file = await openPage(browser, pageOf(path));
    const energy = (page) => page.locator("#summary .figure dd").first().textContent();
    const whole = await energy(file.page);
    const { page, complaints, close } = await openServed(browser, server.address);
    assert.equal(await energy(page), whole);
    await page.locator("#power .u-over").scrollIntoViewIfNeeded();
    const box = await page.locator("#power .u-over").boundingBox();
    await page.mouse.move(box.x + 0.5 * box.width, box.y + 50);
    await page.mouse.down();
    await page.mouse.move(box.x + 0.75 * box.width, box.y + 60, { steps: 4 });
    await page.mouse.up();
    await page.waitForFunction((was) => document.querySelector("#summary .figure dd").textContent !== was, whole);
    assert.match(page.url(), /#from=/);
    assert.deepEqual([...complaints, ...file.complaints], []);
    await close();
    await file.close();
    await server.end();
    await browser.close();
});
