# two simulated boards: who they are, what each sensor tells, and what one of them lacks
export CUDA_VISIBLE_DEVICES=1
joulemap list --sim h200,a100
