/* Long C++ kernel names, made short enough for a table: first what says least goes. */
#include "report/kernel_name.h"

#include "base/utf8.h"

#include <ctype.h>
#include <string.h>

#define ANONYMOUS "(anonymous namespace)"

bool jm__is_cpp_name(const char *name)
{
    return strncmp(name, "void ", 5) == 0 || strstr(name, "::") != NULL;
}

/* Length of a name without the list of parameters at its end. */
static size_t without_parameters(const char *name, size_t length)
{
    if (length == 0 || name[length - 1] != ')') return length;
    size_t depth = 0;
    for (size_t i = length; i-- > 0;) {
        if (name[i] == ')') depth++;
        if (name[i] == '(' && --depth == 0) {
            bool names_a_scope = strncmp(name + i, ANONYMOUS, strlen(ANONYMOUS)) == 0;
            return i > 0 && !names_a_scope ? i : length;
        }
    }
    return length;
}

/* Length of `text` without the scope at its end ("native", "(anonymous namespace)"). */
static size_t without_scope(const char *text, size_t length)
{
    size_t anonymous = strlen(ANONYMOUS);
    if (length >= anonymous && strncmp(text + length - anonymous, ANONYMOUS, anonymous) == 0) {
        return length - anonymous;
    }
    while (length > 0 && (isalnum((unsigned char)text[length - 1]) || text[length - 1] == '_'))
        length--;
    return length;
}

/* A scope with template arguments ("Sum<int>::") stays: they tell which one it is. */
static void drop_namespaces(jm__strbuf *out, const char *name, size_t length)
{
    size_t start = out->length;
    for (size_t i = 0; i < length && !out->failed; i++) {
        bool scope = i + 1 < length && name[i] == ':' && name[i + 1] == ':';
        size_t kept = scope ? start + without_scope(out->text + start, out->length - start) : out->length;
        if (!scope) {
            jm__strbuf_add_bytes(out, name + i, 1);
        } else if (kept < out->length) {
            out->length = kept;
            out->text[kept] = '\0';
            i++;
        } else {
            jm__strbuf_add(out, "::");
            i++;
        }
    }
}

/* Keep what stands inside fewer than `deep` brackets. */
static void drop_template_arguments(jm__strbuf *out, const char *name, size_t deep)
{
    size_t depth = 0;
    for (; *name != '\0'; name++) {
        if (*name == '>' && depth > 0) depth--;
        if (depth < deep) jm__strbuf_add_bytes(out, name, 1);
        if (*name == '<') depth++;
    }
}

void jm__kernel_name_add(jm__strbuf *out, const char *name, jm__brevity brevity)
{
    if (strncmp(name, "void ", 5) == 0) name += 5;
    size_t length = without_parameters(name, strlen(name));
    if (brevity == JM_BREVITY_SIGNATURE) {
        jm__strbuf_add_bytes(out, name, length);
        return;
    }
    if (brevity == JM_BREVITY_NAMESPACES) {
        drop_namespaces(out, name, length);
        return;
    }
    jm__strbuf without = {0};
    drop_namespaces(&without, name, length);
    if (without.failed)
        out->failed = true;
    else if (without.text != NULL)
        drop_template_arguments(out, without.text, brevity == JM_BREVITY_INNER ? 2 : 1);
    jm__strbuf_free(&without);
}

void jm__kernel_name_add_cut(jm__strbuf *out, const char *name, size_t columns)
{
    const char *arguments = name + strcspn(name, "<");
    jm__strbuf head = {0};
    jm__strbuf_add_bytes(&head, name, (size_t)(arguments - name));
    if (head.text == NULL) {
        out->failed = out->failed || head.failed;
        return;
    }
    size_t wanted = jm__utf8_columns(arguments), least = columns * 2 / 5;
    size_t room = columns > wanted + least ? columns - wanted : least;
    size_t start = out->length;
    jm__utf8_add_cut(out, head.text, arguments[0] == '\0' ? columns : room);
    if (out->text != NULL) jm__utf8_add_head(out, arguments, columns - jm__utf8_columns(out->text + start));
    jm__strbuf_free(&head);
}
