/* CPU device, operators: the planners that descriptors name, and what they share.
 *
 * A planner checks one call and plans it (call.h). It is named by the operator's row of
 * operators.def, together with `arg`, which tells it which operator of its family it
 * plans: what arg means stands here, beside the file that the planner is in. */
#ifndef ASN_DEVICE_OPAPI_CORE_PLAN_H
#define ASN_DEVICE_OPAPI_CORE_PLAN_H

#include "device/cpu/linalg/linalg.h"
#include "device/cpu/nn/resample.h"
#include "device/opapi/core/elementwise.h"
#include "device/opapi/core/view.h"

#define ASN_PLANNER(name) ASN_CHECK_RESULT asn_status asn_planner_##name(asnd_call *c)

/* elementwise.c */
ASN_PLANNER(elementwise);
ASN_PLANNER(div_mode);
ASN_PLANNER(complex_apart);

/* reduce.c: arg is the kind; those up to ASN_REDUCE_PROD work on any dtype */
typedef enum {
    ASN_REDUCE_SUM,
    ASN_REDUCE_NANSUM,
    ASN_REDUCE_PROD,
    ASN_REDUCE_MAX,
    ASN_REDUCE_MIN,
    ASN_REDUCE_MINMAX,
    ASN_REDUCE_ALL,
    ASN_REDUCE_ANY,
    ASN_REDUCE_MEAN,
    ASN_REDUCE_LOGSUM,
    ASN_REDUCE_LOGSUMEXP,
    ASN_REDUCE_VAR,
    ASN_REDUCE_STD,
    ASN_REDUCE_NORM,
    ASN_REDUCE_POWERS, /* a norm without its root */
} asnd_reduce_kind;
ASN_PLANNER(reduce);
/* The output has the input's shape without the mask's dimensions, or with extent 1 there.
 */
ASN_CHECK_RESULT asn_status asn_check_reduced(const asnd_call *c, int in, int out,
                                              uint64_t mask, bool keep);

/* cast_narrow.c: parameter `out` = parameter `in`, which broadcasts to it */
ASN_CHECK_RESULT asn_status asn_plan_narrow(asnd_call *c, int in, int out);

/* move.c */
/* Plans out = v, a view into parameter `in`; shapes must agree, dtypes are converted. */
ASN_CHECK_RESULT asn_status asn_plan_move(asnd_call *c, int in, const asnd_view *v,
                                          int out);
ASN_PLANNER(cast);
ASN_PLANNER(copy);
ASN_PLANNER(permute);
ASN_PLANNER(expand);
ASN_PLANNER(slice);
ASN_PLANNER(slices);
ASN_PLANNER(flip);
ASN_PLANNER(flatten);
ASN_PLANNER(fill);
ASN_PLANNER(roll);
ASN_PLANNER(repeat);

/* join.c */
ASN_PLANNER(cat);
ASN_PLANNER(stack);
ASN_PLANNER(split);
ASN_PLANNER(pad);
ASN_PLANNER(triangle);
ASN_PLANNER(diag);
ASN_PLANNER(fill_diagonal);

/* create.c */
ASN_PLANNER(arange);
ASN_PLANNER(linspace);
ASN_PLANNER(logspace);
ASN_PLANNER(eye);

/* index.c */
ASN_PLANNER(index);
ASN_PLANNER(take);
ASN_PLANNER(gather);
ASN_PLANNER(scatter);
ASN_PLANNER(index_axis);
ASN_PLANNER(index_fill);
ASN_PLANNER(put);
ASN_PLANNER(index_nd);
/* index has self's dimensions, and is no longer than it off the axis (CANN and
 * torch.gather). *axis: the parameter dim_at, in [0, ndim). */
ASN_CHECK_RESULT asn_status asn_check_along(const asnd_call *c, int dim_at, int index_at,
                                            int *axis);
/* src has index's dimensions, and is as long as it at least. */
ASN_CHECK_RESULT asn_status asn_check_scattered(const asnd_call *c, int index_at,
                                                int src_at);

/* distance.c, svd.c, cross_entropy.c */
ASN_PLANNER(cdist);
ASN_PLANNER(cdist_backward);
ASN_PLANNER(cdist_grad);
ASN_PLANNER(svd);
ASN_PLANNER(softmax_cross_entropy);
ASN_PLANNER(cross_entropy);
ASN_PLANNER(cross_entropy_backward);

/* strided.c, pieces.c, angle.c */
ASN_PLANNER(strided_slice);
ASN_PLANNER(confusion_transpose);
ASN_PLANNER(chunk_cat);
ASN_PLANNER(unfold_grad);
ASN_PLANNER(repeat_interleave_grad);
ASN_PLANNER(angle);

/* scatter_reduce.c, gather_batch.c, coalesce.c, scatter_list.c */
ASN_PLANNER(scatter_reduce);
ASN_PLANNER(gather_batch);
ASN_PLANNER(coalesce);
ASN_PLANNER(scatter_list);

/* mask.c */
ASN_PLANNER(masked_select);
ASN_PLANNER(masked_fill);
ASN_PLANNER(nonzero);
ASN_PLANNER(repeat_interleave);

/* order.c */
ASN_PLANNER(sort);
ASN_PLANNER(topk);
ASN_PLANNER(kth);
ASN_PLANNER(searchsorted);
ASN_PLANNER(unique);
ASN_PLANNER(bincount);

/* scan.c */
ASN_PLANNER(scan);
ASN_PLANNER(cummax);
ASN_PLANNER(extreme);

/* matmul.c: arg says which tensors are matrices */
enum {
    ASN_PRODUCT_ANY,
    ASN_PRODUCT_MM,
    ASN_PRODUCT_BMM,
    ASN_PRODUCT_MV,
    ASN_PRODUCT_DOT,
    ASN_PRODUCT_GER,
    ASN_PRODUCT_FOLD
};
ASN_PLANNER(matmul);
ASN_PLANNER(addmm);
ASN_PLANNER(gemm);
ASN_PLANNER(matmul_weight);

/* matmul_fused.c */
ASN_PLANNER(transposed_matmul);
ASN_PLANNER(fused_matmul);
ASN_PLANNER(qkv);

/* misc.c */
ASN_PLANNER(equal);
ASN_PLANNER(precision_compare);
ASN_PLANNER(trace);
ASN_PLANNER(parts);
ASN_PLANNER(fold);
ASN_PLANNER(histc);
ASN_PLANNER(is_in);
ASN_PLANNER(one_hot);
ASN_PLANNER(round_decimals);

/* decompose.c: arg is the asnd_linalg_op */
ASN_PLANNER(decompose);

/* signal.c, routing.c, multinomial.c, unique_rows.c */
ASN_PLANNER(rfft);
ASN_PLANNER(stft);
ASN_PLANNER(scale);
ASN_PLANNER(sinkhorn);
ASN_PLANNER(multinomial);
ASN_PLANNER(unique_dim);
ASN_PLANNER(unique_consecutive);

/* foreach.c, normal.c */
ASN_PLANNER(foreach);
ASN_PLANNER(foreach_reduce);
ASN_PLANNER(foreach_fill);
ASN_PLANNER(foreach_round);
ASN_PLANNER(layer_norm);
ASN_PLANNER(layer_norm_backward);

/* batch_norm.c, batch_norm_parts.c, group_norm.c: arg 1 of group_norm is the SiLU behind,
 * 2 its flag, 3 Swish with a flag and a scale */
ASN_PLANNER(batch_norm);
ASN_PLANNER(batch_norm_backward);
ASN_PLANNER(batch_norm_stats);
ASN_PLANNER(batch_norm_elemt);
ASN_PLANNER(batch_norm_gather);
ASN_PLANNER(batch_norm_sums);
ASN_PLANNER(batch_norm_sync);
ASN_PLANNER(batch_norm_reduce);
ASN_PLANNER(batch_norm_elemt_backward);
ASN_PLANNER(group_norm);
ASN_PLANNER(group_norm_backward);
ASN_PLANNER(group_norm_swish_grad);
ASN_PLANNER(instance_norm);

/* residual_norm.c: arg 1 adds 1 to the weight */
ASN_PLANNER(residual_norm);
ASN_PLANNER(residual_norm_grad);

/* class_loss.c: arg 2 has positions */
ASN_PLANNER(nll);
ASN_PLANNER(nll_backward);
ASN_PLANNER(multilabel_margin);

/* ctc.c: arg 1 is the gradient */
ASN_PLANNER(ctc);

/* gate.c: arg 1 is a gradient; 2: the left half is activated, in a gradient by a swish;
 * clipped_swiglu.c */
ASN_PLANNER(gate);
ASN_PLANNER(clipped_swiglu);
ASN_PLANNER(prelu);

/* dropout.c: arg 1 of dropout_do_mask is the gradient; optimizer.c */
ASN_PLANNER(dropout);
ASN_PLANNER(dropout_gen_mask);
ASN_PLANNER(dropout_do_mask);
ASN_PLANNER(rrelu);
ASN_PLANNER(adam);
ASN_PLANNER(adam_powers);
ASN_PLANNER(fused_adam);

/* training.c */
ASN_PLANNER(unscale);
ASN_PLANNER(amp_update_scale);
ASN_PLANNER(fused_sgd);

/* softmax.c: arg 1 is the logarithm; of masked_softmax a mask of bool, 0 summands */
ASN_PLANNER(softmax);
ASN_PLANNER(softmax_backward);
ASN_PLANNER(masked_softmax);
ASN_PLANNER(masked_softmax_backward);

/* rotary.c: arg is the mode of operators without one; cache/rope_cache.c */
ASN_PLANNER(rotary);
ASN_PLANNER(rotary_grad);
ASN_PLANNER(rope_cache);

/* flash_plan.c; infer_plan.c: arg 1 has lengths of keys alone */
ASN_PLANNER(flash_attention);
ASN_PLANNER(infer_attention);

/* attention_update.c */
ASN_PLANNER(attention_update);
ASN_PLANNER(ring_attention_update);

/* formula.c: arg 1 is a gradient */
ASN_PLANNER(formula);

/* conv.c */
ASN_PLANNER(conv);
ASN_PLANNER(conv_depthwise);
ASN_PLANNER(conv_tbc);
ASN_PLANNER(conv_backward);
ASN_PLANNER(conv_tbc_backward);
ASN_PLANNER(conv_weight);

/* pooling.c: arg is the number of spatial dimensions; of global_pool what it computes
 */
ASN_PLANNER(max_pool);
ASN_PLANNER(max_pool_backward);
ASN_PLANNER(max_pool_onnx);
ASN_PLANNER(avg_pool);
ASN_PLANNER(avg_pool_backward);
ASN_PLANNER(adaptive_pool);
ASN_PLANNER(adaptive_pool_backward);
ASN_PLANNER(global_pool);
ASN_PLANNER(max_unpool);
ASN_PLANNER(max_unpool_backward);

/* padding.c: arg is the kind, and the spatial dimensions times 8 */
ASN_PLANNER(pad_image);
ASN_PLANNER(pad_image_backward);

/* floyd_attention.c */
ASN_PLANNER(floyd_attention);
ASN_PLANNER(floyd_attention_grad);

/* rnn.c, rnn_cells.c: arg 1 of rnn and rnn_backward is the LSTM, of lstm_cell the
 * gradient */
ASN_PLANNER(rnn);
ASN_PLANNER(rnn_backward);
ASN_PLANNER(lstm_cell);
/* dynamic_rnn.c, dynamic_gru.c */
ASN_PLANNER(dynamic_rnn);
ASN_PLANNER(dynamic_rnn_grad);
ASN_PLANNER(dynamic_gru);
ASN_PLANNER(dynamic_gru_grad);

/* upsample.c: arg is the mode times 4 and the spatial dimensions */
ASN_PLANNER(upsample);

/* grid_sampler.c: arg is the number of spatial dimensions */
ASN_PLANNER(grid_sampler);
ASN_PLANNER(grid_sampler_backward);

/* boxes.c */
ASN_PLANNER(iou);

/* deform_conv.c, roi_align.c */
ASN_PLANNER(deform_conv);
ASN_PLANNER(deform_conv_backward);
ASN_PLANNER(roi_align);
ASN_PLANNER(roi_align_backward);

/* vision.c */
ASN_PLANNER(im2col);
ASN_PLANNER(im2col_backward);
ASN_PLANNER(channel_shuffle);
ASN_PLANNER(affine_grid);
ASN_PLANNER(chamfer_backward);
ASN_PLANNER(deform);

/* random.c */
ASN_PLANNER(random);
ASN_PLANNER(bernoulli);
ASN_PLANNER(randperm);
ASN_PLANNER(random_all);
ASN_PLANNER(exponential);

/* special.c, sparse_rows.c */
ASN_PLANNER(special);
ASN_PLANNER(embedding_dense_backward);
ASN_PLANNER(embedding_bag);
ASN_PLANNER(renorm);
ASN_PLANNER(embedding_renorm);

/* quant.c, quant_rows.c */
ASN_PLANNER(quant);
ASN_PLANNER(anti_quant);
ASN_PLANNER(group_quant);
ASN_PLANNER(fake_quant);
ASN_PLANNER(dynamic_quant);
ASN_PLANNER(quant_param);
ASN_PLANNER(int4_pack);
ASN_PLANNER(sign_bits);

/* norm_quant.c, act_quant.c: arg 1 of act_quant dequantises first, 2 is GELU */
ASN_PLANNER(norm_quant);
ASN_PLANNER(act_quant);
ASN_PLANNER(dequant_bias);

/* dynamic_quant.c */
ASN_PLANNER(dynamic_sets);

/* quant_matmul.c, weight_quant.c, matmul_dequant.c, matmul_sum.c */
ASN_PLANNER(quant_matmul);
ASN_PLANNER(weight_quant_matmul);
ASN_PLANNER(old_weight_quant);
ASN_PLANNER(matmul_dequant);
ASN_PLANNER(matmul_quant);
ASN_PLANNER(flat_quant);
ASN_PLANNER(matmul_sum);

/* rotate_quant.c */
ASN_PLANNER(rotate_quant);

/* nan_median.c, scatter_update.c */
ASN_PLANNER(nan_median);
ASN_PLANNER(scatter_update);

/* moe/gating.c, routing.c, rerouting.c, finalize.c: arg 1 of moe_finalize is V2 */
ASN_PLANNER(moe_gate);
ASN_PLANNER(moe_group_gate);
ASN_PLANNER(moe_init);
ASN_PLANNER(moe_init_range);
ASN_PLANNER(moe_tokens);
ASN_PLANNER(moe_rerouting);
ASN_PLANNER(moe_finalize);

/* moe/permute.c, routing_map.c: arg 1 of moe_unpermute is the gradient of a permutation
 */
ASN_PLANNER(moe_permute);
ASN_PLANNER(moe_unpermute);
ASN_PLANNER(moe_unpermute_grad);
ASN_PLANNER(moe_map_permute);
ASN_PLANNER(moe_map_permute_grad);
ASN_PLANNER(moe_map_unpermute);
ASN_PLANNER(moe_map_unpermute_grad);

/* moe/routing_quant.c */
ASN_PLANNER(moe_init_quant);

/* moe/grouped_ends.c, lora.c */
ASN_PLANNER(grouped_finalize);
ASN_PLANNER(grouped_swiglu);
ASN_PLANNER(add_lora);

/* moe/ffn.c, gating_grad.c */
ASN_PLANNER(ffn);
ASN_PLANNER(moe_gate_grad);

/* moe/grouped_matmul.c */
ASN_PLANNER(grouped_matmul);
ASN_PLANNER(grouped_matmul_add);

/* joined/product.c: arg is what is before the product times 8, and what is behind it:
 * nothing, all-gather, reduce-scatter, all-reduce, all-to-all; experts.c: arg 1 is the
 * way back */
ASN_PLANNER(joined_product);
ASN_PLANNER(joined_experts);

/* joined/barrier.c */
ASN_PLANNER(barrier);

/* joined/dispatch.c */
ASN_PLANNER(moe_dispatch);
ASN_PLANNER(moe_combine);

/* cache/compress.c: arg 1 is the gradient; indexer.c */
ASN_PLANNER(nsa_compress);
ASN_PLANNER(lightning_indexer);
ASN_PLANNER(indexer_lse);

/* nn/causal_conv.c, hyper.c: arg 1 is the gradient */
ASN_PLANNER(causal_conv);
ASN_PLANNER(mhc_pre);
ASN_PLANNER(mhc_post);
ASN_PLANNER(mhc_sinkhorn);

/* cache/delta_rule.c */
ASN_PLANNER(chunk_delta);
ASN_PLANNER(recurrent_delta);

/* cache/paged.c, advance_step.c, sampling.c, kv_rope.c */
ASN_PLANNER(scatter_paged);
ASN_PLANNER(gather_paged);
ASN_PLANNER(advance_step);
ASN_PLANNER(top_k_top_p);
ASN_PLANNER(top_sample);
ASN_PLANNER(kv_rope);

/* einsum.c, matrices.c */
ASN_PLANNER(einsum);
ASN_PLANNER(linalg_qr);
ASN_PLANNER(cross);
ASN_PLANNER(triangular_solve);
ASN_PLANNER(pdist);
ASN_PLANNER(bias_grad);

#endif
