// One HTML file out of page.html, src/main.ts and src/page.css: dist/page.html. Its policy names the script and the style
// by their hashes, so a browser runs these two and nothing else, whatever the data are.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

const root = new URL(".", import.meta.url);
const common = {
    absWorkingDir: fileURLToPath(root),
    bundle: true,
    minify: true,
    write: false,
    legalComments: "none", // @LICENCES@ has them whole
    metafile: true,
    target: ["chrome100", "firefox100", "safari15.4"],
    logLevel: "warning",
};
// The style sheets of uPlot and d3-flame-graph are in ours, where their colours follow light and dark.
const withoutStyles = { ".css": "empty" };
const script = await build({ ...common, entryPoints: ["src/main.ts"], format: "iife", loader: withoutStyles });
const style = await build({ ...common, entryPoints: ["src/page.css"] });

/** The licences of the packages that are in the script, equal ones once. */
async function licences() {
    const inputs = Object.keys(script.metafile.inputs);
    const packages = [
        ...new Set(inputs.map((path) => /^node_modules\/([^/]+)/.exec(path)?.[1]).filter(Boolean)),
    ].sort();
    const users = new Map();
    for (const name of packages) {
        const folder = new URL(`node_modules/${name}/`, root);
        const file = (await readdir(folder)).find((entry) => /^licen[cs]e/i.test(entry));
        if (file === undefined) throw new Error(`${name} has no file of its licence`);
        const text = (await readFile(new URL(file, folder), "utf8")).trim();
        users.set(text, [...(users.get(text) ?? []), name]);
    }
    return [...users].map(([text, names]) => `${names.join(", ")}\n\n${text}`).join("\n\n\n");
}

/** Text that ends no element that it stands in. */
const inElement = (text) => text.trim().replaceAll("</", "<\\/");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

const js = inElement(script.outputFiles[0].text);
const css = style.outputFiles[0].text.trim();
const parts = {
    "@POLICY@": `default-src 'none'; script-src ${hash(js)}; style-src ${hash(css)}; connect-src 'self'; base-uri 'none'; form-action 'none'`,
    "@STYLE@": css,
    "@SCRIPT@": js,
    "@LICENCES@": (await licences()).replaceAll("<", "&lt;"),
};
const template = await readFile(new URL("page.html", root), "utf8");
await writeFile(
    new URL("dist/page.html", root),
    template.replace(/@(POLICY|STYLE|SCRIPT|LICENCES)@/g, (name) => parts[name]),
);
