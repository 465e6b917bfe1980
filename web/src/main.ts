// The page: a file with all its data, or one that asks `joulemap view` for them.
import { App } from "./app.ts";
import type { Page } from "./data.ts";

const page = JSON.parse(document.getElementById("data")!.textContent!) as Page;
const app = new App(page, document.getElementById("page")!);
if (page.served) void app.serve();
else app.show(page);
