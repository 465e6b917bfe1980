// The questions of a page that `joulemap view` serves.
import { queryOf } from "./scope.ts";
import type { Scope } from "./scope.ts";

export interface Answer<T> {
    data: T;
    /** Of the recordings that it was made of. */
    version: string;
}

export interface State {
    version: string;
    live: boolean;
}

/** joulemap's own words on what cannot be answered. */
export class Refusal extends Error {}

async function read(address: string, signal?: AbortSignal): Promise<Response> {
    const response = await fetch(address, signal === undefined ? {} : { signal });
    if (response.ok) return response;
    const { error, hint } = (await response.json().catch(() => ({ error: response.statusText, hint: "" }))) as {
        error: string;
        hint: string;
    };
    throw new Refusal(hint === "" ? error : `${error}; ${hint}`);
}

export async function ask<T>(scope: Scope, part: string, signal: AbortSignal): Promise<Answer<T>> {
    const response = await read(queryOf(scope, part), signal);
    return { data: (await response.json()) as T, version: (response.headers.get("etag") ?? "").replaceAll('"', "") };
}

export async function askState(): Promise<State> {
    return (await (await read("state")).json()) as State;
}
