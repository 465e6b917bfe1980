// The page's modules as node reads them.
import { build } from "esbuild";
import { fileURLToPath } from "node:url";

const root = new URL("..", import.meta.url);

/** @param {string} name of src/NAME.ts */
export async function load(name) {
    const outfile = fileURLToPath(new URL(`tests/out/${name}.mjs`, root));
    await build({
        entryPoints: [fileURLToPath(new URL(`src/${name}.ts`, root))],
        outfile,
        bundle: true,
        format: "esm",
        logLevel: "warning",
    });
    return import(outfile);
}
