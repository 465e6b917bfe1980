// An interval of time that a chart shows, and how it is moved.

export interface Range {
    from: number;
    to: number;
}

/** Less than this share of the whole is not shown: readings are no finer. */
const NARROWEST = 1 / 2000;

/** Within the whole, no narrower than makes sense. */
export function within(range: Range, whole: Range): Range {
    const most = whole.to - whole.from;
    const width = Math.min(most, Math.max(range.to - range.from, most * NARROWEST));
    const middle = (range.from + range.to) / 2;
    const from = Math.min(Math.max(middle - width / 2, whole.from), whole.to - width);
    return { from, to: from + width };
}

/** Around a point that stays where it is; `factor` below 1 shows less. */
export function zoomed(range: Range, factor: number, around: number, whole: Range): Range {
    const width = Math.min(
        whole.to - whole.from,
        Math.max((range.to - range.from) * factor, (whole.to - whole.from) * NARROWEST),
    );
    const place = (around - range.from) / (range.to - range.from);
    return within({ from: around - place * width, to: around + (1 - place) * width }, whole);
}

/** By a share of its own width. */
export function moved(range: Range, by: number, whole: Range): Range {
    const step = by * (range.to - range.from);
    const width = range.to - range.from;
    const from = Math.min(Math.max(range.from + step, whole.from), whole.to - width);
    return { from, to: from + width };
}

/** What a key does to it; null: the key is for somebody else. */
export function keyed(key: string, range: Range, whole: Range): Range | null {
    const middle = (range.from + range.to) / 2;
    switch (key) {
        case "+":
        case "=":
            return zoomed(range, 0.5, middle, whole);
        case "-":
            return zoomed(range, 2, middle, whole);
        case "ArrowLeft":
            return moved(range, -0.25, whole);
        case "ArrowRight":
            return moved(range, 0.25, whole);
        case "Home":
        case "Escape":
            return whole;
        default:
            return null;
    }
}
