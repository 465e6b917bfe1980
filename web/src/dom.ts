// Elements of the page. Texts come from recordings, so nothing is ever parsed as HTML.

type Child = Node | string | null;
type Properties = Record<string, string | number | boolean | ((event: Event) => void) | null>;

/** An element: attributes by name (true: present, null and false: absent), handlers as "onclick". */
export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    properties: Properties = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
        if (typeof value === "function") element.addEventListener(name.slice(2), value);
        else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : String(value));
    }
    element.append(...children.filter((child): child is Node | string => child !== null));
    return element;
}

/** A name in any script and direction, isolated so that it does not reverse the text around it. */
export function name(text: string): HTMLElement {
    return h("bdi", {}, text);
}

export function section(id: string, title: string, ...children: Child[]): HTMLElement {
    return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), ...children);
}

/** A choice of one, as radio buttons that look like a switch. */
export function choice<T extends string>(
    legend: string,
    options: readonly (readonly [T, string])[],
    chosen: T,
    choose: (value: T) => void,
): HTMLElement {
    const group = `choice-${(choice.made += 1)}`;
    const labels = options.map(([value, text]) =>
        h(
            "label",
            {},
            h("input", { type: "radio", name: group, value, checked: value === chosen, onchange: () => choose(value) }),
            h("span", {}, text),
        ),
    );
    return h("fieldset", { class: "choice" }, h("legend", {}, legend), ...labels);
}
choice.made = 0;

export function checkbox(text: string, checked: boolean, change: (on: boolean) => void): HTMLElement {
    const input = h("input", { type: "checkbox", checked, onchange: () => change(input.checked) });
    return h("label", { class: "check" }, input, h("span", {}, text));
}

export function search(label: string, change: (text: string) => void): HTMLElement {
    const input = h("input", {
        type: "search",
        placeholder: label,
        "aria-label": label,
        autocomplete: "off",
        spellcheck: "false",
        oninput: () => change(input.value),
    });
    return input;
}

/** A legend: CSS colours and their meanings. */
export function legendItems(items: readonly (readonly [string, string])[]): HTMLElement[] {
    return items.map(([background, text]) => {
        const swatch = h("span", { class: "swatch", "aria-hidden": "true" });
        swatch.style.background = background;
        return h("li", {}, swatch, text);
    });
}

/** A text that a screen reader announces when it changes. */
export function status(className: string): HTMLElement {
    return h("p", { class: className, role: "status" });
}

/** A colour of the style sheet, as currently light or dark. */
export function colour(variable: string): string {
    return getComputedStyle(document.documentElement).getPropertyValue(variable).trim();
}

/** A figure with its title, in a list of them. */
export function figure(title: string, value: string, more: string | null = null): HTMLElement {
    return h(
        "div",
        { class: "figure" },
        h("dt", {}, title),
        h("dd", {}, value, more === null ? null : h("small", {}, more)),
    );
}
