/* What XLA calls its ranges: titles that XLA of JAX 0.11.2 gave on an H200, and the forms of older ones. */
#include "inject/xla.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void test_functions_are_called_as_the_program_calls_them(void **state)
{
    (void)state;
    static const struct {
        const char *title, *name, *prefix;
        jm__xla_kind kind;
    } all[] = {
        {"XlaModule:#hlo_module=jit_train_step,program_id=6629#", "train_step", "", JM_XLA_FUNCTION},
        {"XlaModule:#prefix=jit(squeeze)/squeeze,hlo_module=jit_squeeze,program_id=3976#", "squeeze",
         "jit(squeeze)/squeeze", JM_XLA_FUNCTION},
        {"XlaModule:#prefix=jit(f)/jit(main),hlo_module=jit_f#", "f", "jit(f)/jit(main)", JM_XLA_FUNCTION},
        {"XlaModule:#hlo_module=pmap_update,program_id=2#", "update", "", JM_XLA_FUNCTION},
        {"XlaModule:#hlo_module=cluster_0,program_id=2#", "cluster_0", "", JM_XLA_FUNCTION},
        {"XlaModule:#hlo_module=gemm_fusion_dot.1#", "gemm_fusion_dot.1", "", JM_XLA_AUTOTUNING},
        {"XlaModule:#", "", "", JM_XLA_AUTOTUNING},
        {"XlaPass:#name=algsimp,module=jit_train_step,program_id=6629#", "", "", JM_XLA_COMPILER},
        {"MatMul:MatMul", "", "", JM_XLA_FOREIGN},
        {"", "", "", JM_XLA_FOREIGN},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        jm__xla_title title;
        jm__xla_title_read(&title, all[i].title, "of another");
        assert_int_equal(title.kind, all[i].kind);
        assert_string_equal(title.name, all[i].name);
        assert_string_equal(title.prefix, all[i].prefix);
    }
}

static void test_operations_are_in_the_scopes_of_their_names(void **state)
{
    (void)state;
    static const struct {
        const char *op_name, *prefix, *name;
        jm_span_kind span;
    } all[] = {
        {"jit(evaluate)/layers/while/body/add", "", "layers", JM_SPAN_FUNCTION},
        {"jit(train_step)/jvp(block1)/attn", "", "block1.attn", JM_SPAN_FORWARD},
        {"jit(train_step)/jvp(block1)/attn/dot_general", "", "block1.attn", JM_SPAN_FORWARD},
        {"jit(train_step)/transpose(jvp(block2))/reduce_sum", "", "block2", JM_SPAN_BACKWARD},
        {"jit(train_step)/jvp(layers)/while/body/jit(dynamic_index_in_dim)/dynamic_slice", "", "layers",
         JM_SPAN_FORWARD},
        {"jit(train_step)/transpose(jvp(layers))/while/body/eval_jaxpr/transpose", "", "layers",
         JM_SPAN_BACKWARD},
        {"jit(train_step)/update", "", "update", JM_SPAN_FUNCTION},
        {"jit(train_step)", "", "", JM_SPAN_FUNCTION},
        {"jit(sin)/sin", "", "", JM_SPAN_FUNCTION},
        {"jit(f)/jvp()/mul", "", "", JM_SPAN_FORWARD},
        {"jit(f)/cond/branch_1_fun/add", "", "", JM_SPAN_FUNCTION},
        /* a checkpointed block: once more in the backward pass, and then backward */
        {"jit(f)/transpose(jvp(blk))/jvp(blk)/checkpoint/rematted_computation/inner/cos", "", "blk.inner",
         JM_SPAN_RECOMPUTE},
        {"jit(f)/transpose(jvp(blk))/jvp(blk)/checkpoint/inner/mul", "", "blk.inner", JM_SPAN_BACKWARD},
        {"jit(<lambda>)/vmap(transpose(jvp(blk)))/vmap(jvp(blk))/checkpoint/inner/dot_general", "",
         "blk.inner", JM_SPAN_BACKWARD},
        /* scopes within each other that are called alike are two */
        {"jit(f)/jvp(blk)/blk/mul", "", "blk.blk", JM_SPAN_FORWARD},
        {"jit(f)/jvp(MLP)/Dense_0/dot_general", "", "MLP.Dense_0", JM_SPAN_FORWARD},
        /* older: the function's prefix is left out, parameters in brackets are not */
        {"attn/transpose[permutation=(1, 0)]", "jit(f)/jit(main)/jvp(block1)", "block1.attn",
         JM_SPAN_FORWARD},
        {"reduce_sum[axes=(0,)]", "jit(f)/jit(main)", "", JM_SPAN_FUNCTION},
        {"///", "", "", JM_SPAN_FUNCTION},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        char text[512];
        jm__xla_title title;
        snprintf(text, sizeof text, "Thunk:#name=%s,hlo_op=loop_fusion.3,unique_hlo_op_id=42#",
                 all[i].op_name);
        jm__xla_title_read(&title, text, all[i].prefix);
        assert_int_equal(title.kind, JM_XLA_OPERATION);
        assert_string_equal(title.name, all[i].name);
        assert_int_equal(title.span, all[i].span);
    }
    jm__xla_title title;
    jm__xla_title_read(&title, "Thunk:#hlo_op=command_buffer_9#", "jit(f)/block");
    assert_int_equal(title.kind, JM_XLA_UNNAMED);
}

static void test_names_of_any_length_are_cut_to_what_fits(void **state)
{
    (void)state;
    char text[4 * JM_XLA_NAME_MAX] = "Thunk:#name=", prefix[JM_XLA_NAME_MAX];
    jm__xla_title title;
    memset(prefix, 'p', sizeof prefix - 1);
    prefix[sizeof prefix - 1] = '\0';
    for (size_t length = strlen(text); length < sizeof text - 1; length++) {
        text[length] = length % 3 == 0 ? '/' : 'x';
        text[length + 1] = '\0';
        jm__xla_title_read(&title, text, prefix);
        assert_true(strlen(title.name) < sizeof title.name);
        jm__xla_title_read(&title, text, "");
        assert_true(strlen(title.name) < sizeof title.name);
    }
}

static void test_primitives_are_found_and_scopes_are_not(void **state)
{
    (void)state;
    static const char *const known[] = {"abs", "dot_general", "scatter-add", "zeta"};
    static const char *const others[] = {"", "ab", "absolute", "attn", "dot_generals", "zz"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        assert_true(jm__xla_is_primitive(known[i], strlen(known[i])));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(jm__xla_is_primitive(others[i], strlen(others[i])));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_are_called_as_the_program_calls_them),
        cmocka_unit_test(test_operations_are_in_the_scopes_of_their_names),
        cmocka_unit_test(test_names_of_any_length_are_cut_to_what_fits),
        cmocka_unit_test(test_primitives_are_found_and_scopes_are_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
