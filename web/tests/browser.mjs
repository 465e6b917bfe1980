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
    const address = new URL(`file://${path}`).href;
    return open(browser, address, (url) => url === address, options);
}

/**
 * The same of a served page, at `address` with what is shown behind it: it may ask its own server alone.
 * @param {import("playwright-core").Browser} browser
 */
export async function openServed(browser, address, shown = "", options = {}) {
    return open(browser, address + shown, (url) => url.startsWith(address), options);
}

async function open(browser, address, may, options) {
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
        if (!may(request.url())) complaints.push(`request: ${request.url()}`);
    });
    await page.goto(address);
    await page.locator("#summary .figure").first().waitFor();
    return { page, complaints, close: () => context.close() };
}
