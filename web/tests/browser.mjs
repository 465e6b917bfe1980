// The browser of the tests: Debian's Chromium, without a screen.
import { chromium } from "playwright-core";

export const CHROMIUM = process.env.JOULEMAP_CHROMIUM ?? "/usr/bin/chromium";

export function launch() {
    return chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

/**
 * A page of a file, and what it complained of: words on the console, errors, requests to anywhere.
 * @param {import("playwright-core").Browser} browser
 * @param {string} path
 */
export async function openPage(browser, path, options = {}) {
    const context = await browser.newContext({
        viewport: { width: 1280, height: 900 },
        reducedMotion: "reduce",
        ...options,
    });
    const page = await context.newPage();
    const complaints = [];
    page.on("console", (message) => complaints.push(`console: ${message.text()}`));
    page.on("pageerror", (error) => complaints.push(`error: ${error}`));
    page.on("request", (request) => {
        if (request.url() !== new URL(`file://${path}`).href) complaints.push(`request: ${request.url()}`);
    });
    await page.goto(`file://${path}`);
    await page.locator("main section").first().waitFor();
    return { page, complaints, close: () => context.close() };
}
