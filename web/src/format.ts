// Figures as in the command's tables (src/report/format.c): missing values are "-".
import type { Known } from "./data.ts";

interface Unit {
    readonly text: string;
    readonly size: number;
}

const ENERGY: readonly Unit[] = units("uJ", "mJ", "J", "kJ", "MJ");
const TIME: readonly Unit[] = [
    { text: "ns", size: 1e-9 },
    { text: "us", size: 1e-6 },
    { text: "ms", size: 1e-3 },
    { text: "s", size: 1 },
];
const MISSING = "-";

function units(...texts: string[]): Unit[] {
    return texts.map((text, i) => ({ text, size: 10 ** (3 * (i - 2)) }));
}

function rounded(size: number, digits: number): number {
    return size > 0 ? Number(size.toPrecision(digits)) : 0;
}

function unitFor(table: readonly Unit[], size: number): Unit {
    let best = table[0]!;
    for (const unit of table) if (size >= unit.size * (1 - 1e-12)) best = unit;
    return best;
}

function decimalsFor(value: number, digits: number): number {
    const first = value > 0 ? Math.floor(Math.log10(value)) : 0;
    return Math.max(0, digits - 1 - first);
}

function plain(value: Known, table: readonly Unit[], digits: number): string {
    if (value === null) return MISSING;
    const size = rounded(Math.abs(value), digits);
    const unit = unitFor(table, size > 0 ? size : 1);
    return `${withoutSign((value / unit.size).toFixed(size > 0 ? decimalsFor(size / unit.size, digits) : 0))} ${unit.text}`;
}

/** Values that round to 0 have no sign. */
function withoutSign(text: string): string {
    return /^-[0.]*$/.test(text) ? text.slice(1) : text;
}

/** One unit for a column of energies: the largest has at least two digits before the point. */
export interface Scale {
    readonly unit: string;
    readonly size: number;
    readonly decimals: number;
}

export function scaleFor(largest: number): Scale {
    const size = rounded(Math.abs(largest), 4);
    const unit = unitFor(ENERGY, size > 0 ? size / 10 : 1);
    return { unit: unit.text, size: unit.size, decimals: Math.max(1, decimalsFor(size / unit.size, 4)) };
}

export function inScale(value: Known, scale: Scale): string {
    return value === null ? MISSING : withoutSign((value / scale.size).toFixed(scale.decimals));
}

export function energy(value: Known): string {
    return plain(value, ENERGY, 4);
}

/** "12.34 ±0.31 kJ" */
export function energyWithin(value: Known, low: Known, high: Known): string {
    if (value === null || low === null || high === null) return energy(value);
    const half = (high - low) / 2;
    const unit = unitFor(ENERGY, Math.max(rounded(Math.abs(value), 4), half));
    const decimals = half > 0 ? Math.min(6, decimalsFor(half / unit.size, 2)) : 1;
    return `${withoutSign((value / unit.size).toFixed(decimals))} ±${(half / unit.size).toFixed(decimals)} ${unit.text}`;
}

/** Half of the interval by the energy: "3 %", "0.4 %". */
export function half(value: Known, low: Known, high: Known): string {
    if (value === null || low === null || high === null || value === 0) return MISSING;
    const percent = (50 * (high - low)) / Math.abs(value);
    if (percent > 999) return "> 999 %";
    return `${percent.toFixed(percent > 0 && percent < 0.95 ? 1 : 0)} %`;
}

export function time(value: Known): string {
    return plain(value, TIME, 3);
}

export function watts(value: Known): string {
    return value === null ? MISSING : `${value.toFixed(value < 100 ? 1 : 0)} W`;
}

export function megahertz(value: Known): string {
    return value === null ? MISSING : `${value.toFixed(0)} MHz`;
}

export function share(value: Known): string {
    return value === null ? MISSING : `${withoutSign((100 * value).toFixed(1))} %`;
}

/** A share without decimals, for shares of a part. */
export function percent(value: Known): string {
    return value === null ? MISSING : `${(100 * value).toFixed(0)} %`;
}

/** Shortens a name in its middle, as names differ at their ends as often as at their beginnings. */
export function middleCut(text: string, most: number): string {
    const characters = [...text];
    if (characters.length <= most) return text;
    const end = Math.floor((most - 1) / 2.5);
    return `${characters.slice(0, most - 1 - end).join("")}…${characters.slice(-end).join("")}`;
}

export function count(value: Known): string {
    if (value === null) return MISSING;
    return value < 1e6 ? String(Math.round(value)) : `${(value / 1e6).toPrecision(3)}M`;
}

/** 0.123 in [0.113, 0.133]: "+12.3 ±1.0 %". */
export function change(value: Known, low: Known, high: Known): string {
    if (value === null) return MISSING;
    const text = `${value >= 0 ? "+" : "-"}${Math.abs(100 * value).toFixed(1)}`;
    if (low === null || high === null) return `${text} %`;
    return `${text} ±${(50 * (high - low)).toFixed(1)} %`;
}

/** "2026-11-22 16:29 UTC" */
export function moment(unixSeconds: Known): string {
    if (unixSeconds === null) return MISSING;
    return `${new Date(unixSeconds * 1000).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
