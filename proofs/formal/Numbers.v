(** The decision of [Grid], over the real numbers: epsilons in place of odds. *)
From Coq Require Import NArith Reals.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import Rstruct.
From DP Require Import Laws Rules Grid.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.

Delimit Scope R_scope with Re.

Definition real : realFieldType := R_realFieldType.

Definition as_real (n : N) : R := IZR (Z.of_N n).

Lemma num_real n : num real n = as_real n.
Proof. by rewrite /num /as_real -[X in X = _]INRE -N_nat_Z INR_IZR_INZ. Qed.

Lemma quotient_real a b : num real b != 0%R -> (num real a / num real b)%R = (as_real a / as_real b)%Re.
Proof. by move=> b0; rewrite [RHS]RdivE -?num_real. Qed.

Section Certified.
Variables (a b : N).
Hypothesis b0 : N.ltb 0 b.

Let b1 : num real b != 0%R. Proof. by rewrite gt_eqF // num_gt0. Qed.

(** Bounds of a step as an interval proof shows them: e^epsilon <= (a/b)^k and delta <= u/v. *)
Definition shown (s : step) (epsilon delta : R) : Prop :=
  (exp epsilon <= (as_real a / as_real b) ^ multiple s)%Re /\ (delta <= as_real (mass s) / as_real (over s))%Re.

Lemma shown_within s epsilon delta : step_ok s -> shown s epsilon delta -> within a b s (exp epsilon, delta).
Proof.
case/andP => _ v0 [/RleP one /RleP two]; split => /=.
  by rewrite quotient_real // -RpowE.
by rewrite quotient_real // gt_eqF // num_gt0.
Qed.

(** Groups of equal steps, in the order in which they run. *)
Record group := Group { times : nat; one : step; epsilon : R; delta : R }.

Definition all_steps_of (groups : seq group) : seq step := flatten [seq nseq (times x) (one x) | x <- groups].
Definition all_bounds_of (groups : seq group) : seq (R * R) :=
  flatten [seq nseq (times x) (exp (epsilon x), delta x) | x <- groups].

Fixpoint all_shown (groups : seq group) : Prop :=
  if groups is x :: rest then shown (one x) (epsilon x) (delta x) /\ all_shown rest else True.

Lemma groups_within groups : all step_ok (all_steps_of groups) -> all_shown groups ->
  all_within a b (all_steps_of groups) (all_bounds_of groups).
Proof.
elim: groups => [|x rest IH] //.
have -> : all_steps_of (x :: rest) = nseq (times x) (one x) ++ all_steps_of rest by [].
have -> : all_bounds_of (x :: rest) = nseq (times x) (exp (epsilon x), delta x) ++ all_bounds_of rest by [].
rewrite all_cat => /andP[ok rest_ok] [first later].
elim: (times x) ok => [_|n IHn /=]; first exact: IH.
by case/andP => step_fits more; split; [apply: shown_within | apply: IHn].
Qed.

End Certified.

(** The two sides of a budget: what every step obeys, and what the whole run is. *)
Definition obeys_groups (D : Type) (T : finType) (N : relation D) groups n (p : program real D T n) : Prop :=
  @obeys real D T N (all_bounds_of groups) n p.

Definition private (D : Type) (T : finType) (N : relation D) (M : mechanism real D T) (epsilon delta : R) : Prop :=
  @has_approx real D T N M (exp epsilon) delta.

Theorem certified a b places groups m u v (total : R) (left : R) :
  decide places a b (all_steps_of groups) m u v -> all_shown a b groups ->
  ((as_real a / as_real b) ^ m <= exp total)%Re -> (as_real u / as_real v <= left)%Re ->
  forall (D : Type) (T : finType) (N : relation D) n (p : program real D T n),
  obeys_groups N groups p -> private N (run p) total left.
Proof.
move=> small all_in /RleP m_t /RleP v_d D T N n p good.
case/andP: (small) => /andP[/andP[/andP[b0 _] v0] ok] _.
have b1 : num real b != 0%R by rewrite gt_eqF // num_gt0.
apply: (decided small (groups_within b0 ok all_in) good).
  by rewrite quotient_real // -RpowE.
by rewrite quotient_real // gt_eqF // num_gt0.
Qed.
