// The data that the core puts into the page (src/page): unknown values are null, never 0.

export type Known = number | null;

/** A table: one array per column, parents before their children. */
export interface Lines {
    name: string[];
    /** null: the same as its name. */
    path: (string | null)[];
    /** A shortened C++ name; null: the name itself. */
    short: (string | null)[];
    says_kind: boolean[];
    kind: string[];
    type: string[];
    boards: string[];
    depth: number[];
    /** Number of equal layers in the line. */
    x: number[];
    calls: number[];
    busy_s: number[];
    energy_j: Known[];
    low_j: Known[];
    high_j: Known[];
    /** The part of a steady step; null without steps. */
    step_s: Known[];
    step_j: Known[];
    step_low_j: Known[];
    step_high_j: Known[];
    /** Without children. */
    own_j: Known[];
    power_w: Known[];
    share: Known[];
    /** Shares of its kernels' energy that forward and backward passes took. */
    forward_share: Known[];
    backward_share: Known[];
    /** The layer that a kernel mostly ran in; null without such a column. */
    mostly_in: (string | null)[];
    /** The layer that followed most of a pause. */
    mostly_before: (string | null)[];
    mostly_share: Known[];
    known: string[];
    /** own_j and own time as areas, never below 0. */
    area_j: number[];
    area_s: number[];
    left_out: { rows: number; energy_j: Known; area_j: number; area_s: number };
}

export interface BoardPower {
    index: number;
    name: string;
    /** The share of each bin with readings: the weight in means over several bins. */
    seen_s: number[];
    mean_w: Known[];
    least_w: Known[];
    most_w: Known[];
    clock_mhz: Known[];
}

export interface Power {
    from_s: Known;
    to_s: Known;
    boards: BoardPower[];
}

export interface Band {
    name: string;
    kind: string;
    from_s: number;
    to_s: number;
}

export interface Spans {
    /** There are too many to draw: `items` is empty. */
    bands: { count: number; items: Band[] };
    steps: { count: number; items: number[] };
}

export interface Steps {
    /** Number of steps averaged in each point. */
    steps: number[];
    samples: Known[];
    start_s: number[];
    seconds: number[];
    energy_j: Known[];
    low_j: Known[];
    high_j: Known[];
}

export interface Board {
    index: number;
    name: string;
    uuid: string;
    pci: string;
    host: string;
    driver: string;
    power_limit_w: Known;
    clock_limit_mhz: Known;
    energy_j: Known;
    gain_u: Known;
    simulated: boolean;
}

export interface Machine {
    facts: [string, string | null][];
    start_unix_s: Known;
    boards: Board[];
}

/** A value with the ends of its 95 % interval. */
export type Figure95 = [number, number, number];

export type CapQuantity = "time" | "energy" | "edp" | "ed2p";

/** The prediction for a cap, as shares of the reference's. */
export interface CapPrediction extends Record<CapQuantity, Figure95> {
    cap_w: number;
}

export interface CapTrial {
    number: number;
    stage: string;
    cap_w: number;
    time_s: number;
    power_w: number;
}

/** The power cap search that made the run. */
export interface CapSearch {
    objective: string;
    verdict: string;
    reference_w: number;
    chosen_w: number;
    /** Changes of energy and time, as measured by the proof; null: there was none. */
    saving: Figure95 | null;
    slowdown: Figure95 | null;
    caps: CapPrediction[];
    trials: CapTrial[];
}

export interface Quality {
    verdict: "good" | "fair" | "poor";
    verdict_reason: string;
    verdict_more: string[];
    sensors: string[];
    notes: string[];
    [key: string]: unknown;
}

export interface Summary {
    version: string;
    by: string;
    phase: string | null;
    simulated: boolean;
    duration_s: Known;
    steps: Known;
    samples: Known;
    tokens: Known;
    total_energy_j: Known;
    total_energy_low_j: Known;
    total_energy_high_j: Known;
    idle_energy_j: Known;
    quality: Quality;
    overhead: Record<string, Known>;
    [key: string]: unknown;
}

export interface Run {
    name: string | null;
    summary: Summary;
    /** Sentences: subject and text. */
    facts: [string, string][];
    machine: Machine;
    cap: CapSearch | null;
    power: Power;
    spans: Spans;
    rows: Lines;
    /** The rows with equal layers combined; null: this key has none. */
    folded: Lines | null;
    /** null: none; undefined: not here yet, of a served page. */
    kernels?: Lines | null;
    /** Sentences about waiting that is not idle time: copies, collectives. */
    waits: string[];
    steps?: Steps | null;
    /** What it can be restricted to; only in a served page. */
    choices?: Choices;
}

export interface Choices {
    keys: string[];
    phases: string[];
    processes: { pid: number; rank: Known; command: string | null }[];
    boards: { index: number; name: string }[];
}

/** A layer, or equal ones, in detail. */
export interface Layer {
    path: string;
    members: number;
    calls: number;
    busy_s: number;
    energy_j: Known;
    low_j: Known;
    high_j: Known;
    kernels: LayerKernels;
    /** Its energy in each step; `seconds` is the time of its kernels. */
    steps: Steps | null;
}

/** One array per column. */
export interface LayerKernels {
    name: string[];
    short: (string | null)[];
    calls: number[];
    busy_s: number[];
    energy_j: Known[];
    low_j: Known[];
    high_j: Known[];
}

export interface DiffFigures {
    a_j: Known;
    a_low_j: Known;
    a_high_j: Known;
    b_j: Known;
    b_low_j: Known;
    b_high_j: Known;
    change: Known;
    change_low: Known;
    change_high: Known;
    verdict: string;
}

export interface DiffRow extends DiffFigures {
    path: string;
    kind: string;
}

export interface Diff {
    by: string;
    per: string;
    gpu: string;
    gain_u: number;
    a: { name: string; units: number; clock_mhz: Known };
    b: { name: string; units: number; clock_mhz: Known };
    total: DiffFigures;
    rows: DiffRow[];
}

export interface Page {
    version: string;
    /** One run, or the two runs of the diff. */
    runs: Run[];
    diff: Diff | null;
    /** There is a program to ask for the data; `runs` is empty. */
    served?: boolean;
}
