(** Private selection: the best of a geometric number of runs of a mechanism of pure privacy. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From DP Require Import Laws Rules.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Selection.
Variables (R : realFieldType) (T : finType) (rank : T -> nat).
Hypothesis rank_inj : injective rank.
Variable stop : R.
Hypotheses (stop0 : 0 < stop) (stop1 : stop <= 1).

Definition better (x y : T) : T := if (rank x <= rank y)%N then y else x.

(** One run; then, unless a coin says stop, the better of it and of a selection of its own. A law with
    [L = again P L] is that of the best of a geometric number of runs, of which there is at least one. *)
Definition again (P L : law R T) (z : T) : R :=
  \sum_x P x * (stop * (x == z)%:R + (1 - stop) * \sum_y L y * (better x y == z)%:R).

Definition selected (P L : law R T) : Prop := L =1 again P L.

Definition under (P : T -> R) (r : nat) : R := \sum_(x | (rank x < r)%N) P x.

Lemma under_next (P : T -> R) z : under P (rank z).+1 = under P (rank z) + P z.
Proof.
rewrite /under (bigD1 z) //= addrC; congr (_ + _); apply: eq_bigl => x.
by rewrite ltnS leq_eqVlt (inj_eq rank_inj); case: eqP => [->|]; rewrite ?ltnn ?andbT.
Qed.

Lemma under_le1 (P : law R T) r : under P r <= 1.
Proof.
rewrite -(mass_sum P) [X in _ <= X](bigID (fun x => (rank x < r)%N)) /= ler_addl.
by apply: sumr_ge0 => x _; apply: mass_ge0.
Qed.

Lemma under_ge0 (P : law R T) r : 0 <= under P r.
Proof. by apply: sumr_ge0 => x _; apply: mass_ge0. Qed.

Lemma under_hit (y : T) r : \sum_(z | (rank z < r)%N) (y == z)%:R = (rank y < r)%N%:R :> R.
Proof.
rewrite big_mkcond (bigD1 y) //= eqxx big1 => [|z /negbTE other]; first by case: ifP; rewrite addr0.
by rewrite eq_sym other; case: ifP.
Qed.

Lemma under_again (P L : law R T) r : under (again P L) r = under P r * (stop + (1 - stop) * under L r).
Proof.
have inner (x : T) : \sum_(z | (rank z < r)%N)
    (stop * (x == z)%:R + (1 - stop) * \sum_y L y * (better x y == z)%:R) =
    (rank x < r)%N%:R * (stop + (1 - stop) * under L r).
  rewrite big_split /= -!mulr_sumr under_hit exchange_big /=.
  have -> : \sum_y \sum_(z | (rank z < r)%N) L y * (better x y == z)%:R = (rank x < r)%N%:R * under L r.
    rewrite /under mulr_sumr [RHS]big_mkcond /=; apply: eq_bigr => y _.
    rewrite -mulr_sumr under_hit /better.
    case: (leqP (rank x) (rank y)) => xy; case: (ltnP (rank y) r) => yr; rewrite ?mulr1 ?mulr0.
    - by rewrite (leq_ltn_trans xy yr) mul1r.
    - by [].
    - by rewrite mulrC.
    by rewrite ltnNge (leq_trans yr (ltnW xy)) mulr0.
  ring.
rewrite {1}/under /again exchange_big /= /under mulr_suml [RHS]big_mkcond /=; apply: eq_bigr => x _.
rewrite -mulr_sumr inner; case: ifP => _; rewrite ?mul1r ?mul0r ?mulr0 //.
Qed.

Definition left_over (P : law R T) r : R := 1 - (1 - stop) * under P r.

Lemma left_over_gt0 P r : 0 < left_over P r.
Proof.
have -> : left_over P r = stop + (1 - stop) * (1 - under P r) by rewrite /left_over; ring.
by apply: ltr_paddr stop0; rewrite mulr_ge0 ?subr_ge0 ?under_le1.
Qed.

Lemma under_selected P L r : selected P L -> under L r * left_over P r = stop * under P r.
Proof.
move=> sel; have : under L r = under (again P L) r by apply: eq_bigr => x _; apply: sel.
rewrite under_again => fixed; apply/eqP; rewrite -subr_eq0; apply/eqP.
have -> : under L r * left_over P r - stop * under P r =
  under L r - under P r * (stop + (1 - stop) * under L r) by rewrite /left_over; ring.
by rewrite -fixed subrr.
Qed.

(** The mass of what is selected. *)
Lemma selected_mass P L z : selected P L ->
  L z * (left_over P (rank z) * left_over P (rank z).+1) = stop * P z.
Proof.
move=> sel; have low := under_selected (rank z) sel; have high := under_selected (rank z).+1 sel.
have Lz : L z = under L (rank z).+1 - under L (rank z) by rewrite under_next; ring.
have Pz : P z = under P (rank z).+1 - under P (rank z) by rewrite under_next; ring.
rewrite Lz.
have -> : (under L (rank z).+1 - under L (rank z)) * (left_over P (rank z) * left_over P (rank z).+1) =
  (under L (rank z).+1 * left_over P (rank z).+1) * left_over P (rank z) -
  (under L (rank z) * left_over P (rank z)) * left_over P (rank z).+1 by ring.
by rewrite low high [in RHS]Pz /left_over; ring.
Qed.

(** Such a law exists. *)

Lemma under_step (F : T -> R) r :
  under F r.+1 = under F r + (if [pick z | rank z == r] is Some z then F z else 0).
Proof.
case: pickP => [z /eqP <-|none]; first exact: under_next.
by rewrite addr0; apply: eq_bigl => x; rewrite ltnS leq_eqVlt none.
Qed.

Lemma under_all (F : T -> R) : under F (\max_x rank x).+1 = \sum_x F x.
Proof. by apply: eq_bigl => x; rewrite ltnS leq_bigmax. Qed.

Lemma same_under (F G : T -> R) : (forall r, under F r = under G r) -> F =1 G.
Proof. by move=> same z; apply: (addrI (under F (rank z))); rewrite -under_next !same under_next. Qed.

Section Exists.
Variable P : law R T.

Definition selection_mass (z : T) : R := stop * P z / (left_over P (rank z) * left_over P (rank z).+1).

Lemma selection_under r : under selection_mass r * left_over P r = stop * under P r.
Proof.
elim: r => [|r IH]; first by rewrite /under !big_pred0 // mul0r mulr0.
have := under_step P r; rewrite [under selection_mass _]under_step; case: pickP => [z /eqP at_r|none] step; last first.
  by rewrite addr0 /left_over step !addr0.
have mass : selection_mass z * (left_over P r * left_over P r.+1) = stop * P z.
  by rewrite /selection_mass at_r divfK // gt_eqF // mulr_gt0 ?left_over_gt0.
have gt0 : left_over P r != 0 by rewrite gt_eqF ?left_over_gt0.
apply: (mulfI gt0).
have -> : left_over P r * ((under selection_mass r + selection_mass z) * left_over P r.+1) =
  under selection_mass r * left_over P r * left_over P r.+1 +
  selection_mass z * (left_over P r * left_over P r.+1) by ring.
by rewrite IH mass /left_over step; ring.
Qed.

Lemma selection_ge0 z : 0 <= selection_mass z.
Proof.
apply: divr_ge0; first by rewrite mulr_ge0 ?mass_ge0 // ltW.
by rewrite mulr_ge0 // ltW // left_over_gt0.
Qed.

Lemma selection_sum : \sum_z selection_mass z = 1.
Proof.
have := selection_under (\max_x rank x).+1; rewrite /left_over !under_all mass_sum !mulr1 subKr => total.
by apply: (mulIf (lt0r_neq0 stop0)); rewrite total mul1r.
Qed.

Definition selection : law R T := Law selection_ge0 selection_sum.

Theorem selection_selected : selected P selection.
Proof.
apply: same_under => r; rewrite under_again; apply/eqP; rewrite -subr_eq0.
have -> : under selection r - under P r * (stop + (1 - stop) * under selection r) =
  under selection r * left_over P r - stop * under P r by rewrite /left_over; ring.
by rewrite selection_under subrr.
Qed.
End Exists.

(** ** select/pure: t ((stop + t) / (1 + stop t))^2, for a number of runs with eta = 1. *)

Variable t : R.
Hypothesis t1 : 1 <= t.

Lemma left_over_ratio (P Q : law R T) r : pure t P Q -> pure t Q P ->
  left_over Q r * (1 + stop * t) <= (stop + t) * left_over P r.
Proof.
move=> there back; have t0 : 0 <= t by apply: le_trans t1; apply: ler01.
have above (L L' : law R T) : pure t L L' -> 1 - under L r <= t * (1 - under L' r).
  have rest (K : law R T) : 1 - under K r = \sum_(x | ~~ (rank x < r)%N) K x.
    by rewrite -(mass_sum K) (bigID (fun x => (rank x < r)%N)) /= addrC addKr.
  by move=> most; rewrite !rest mulr_sumr; apply: ler_sum => x _.
have below : under P r <= t * under Q r by rewrite mulr_sumr; apply: ler_sum => x _.
have high := above Q P back.
have mixed : 0 <= (1 - stop) * ((t * (1 - under P r) - (1 - under Q r)) +
    stop * (t * under Q r - under P r)).
  by rewrite mulr_ge0 ?subr_ge0 // addr_ge0 ?subr_ge0 // mulr_ge0 ?subr_ge0 // ltW.
rewrite -subr_ge0; apply: le_trans mixed _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
by rewrite /left_over; ring.
Qed.

Theorem select_pure (P Q L L' : law R T) :
  pure t P Q -> pure t Q P -> selected P L -> selected Q L' ->
  pure (t * ((stop + t) / (1 + stop * t)) ^+ 2) L L'.
Proof.
move=> there back sel sel' z; have t0 : 0 <= t by apply: le_trans t1; apply: ler01.
have d0 : 0 < 1 + stop * t by apply: addr_gt0 ltr01 (mulr_gt0 stop0 (lt_le_trans ltr01 t1)).
have n0 : 0 <= stop + t by rewrite addr_ge0 // ltW.
set c := (stop + t) / (1 + stop * t); have c0 : 0 <= c by rewrite divr_ge0 // ltW.
have ratio r : left_over Q r <= c * left_over P r.
  by rewrite /c mulrAC ler_pdivl_mulr //; apply: left_over_ratio.
set a := left_over P (rank z); set b := left_over P (rank z).+1.
set a' := left_over Q (rank z); set b' := left_over Q (rank z).+1.
have [a0 b0 a'0 b'0] : [/\ 0 < a, 0 < b, 0 < a' & 0 < b'] by split; apply: left_over_gt0.
have Lz : L z * (a * b) = stop * P z by apply: selected_mass.
have Lz' : L' z * (a' * b') = stop * Q z by apply: selected_mass.
have all0 : 0 < a * b * (a' * b') by rewrite !mulr_gt0.
rewrite -(ler_pmul2r all0).
have -> : L z * (a * b * (a' * b')) = stop * P z * (a' * b') by rewrite -Lz; ring.
have -> : t * c ^+ 2 * L' z * (a * b * (a' * b')) = (t * (stop * Q z)) * ((c * a) * (c * b)).
  by rewrite -Lz' expr2; ring.
apply: ler_pmul; rewrite ?mulr_ge0 ?mass_ge0 ?(ltW stop0) ?(ltW a'0) ?(ltW b'0) //.
  by rewrite mulrCA ler_wpmul2l // ltW.
by apply: ler_pmul (ratio _) (ratio _); apply: ltW.
Qed.

End Selection.

(** ** select/pure, for at most n runs: whatever is made of n runs costs n times epsilon. *)

Section Fixed.
Variables (R : realFieldType) (T S : finType).

Lemma pure_joint (U : finType) (s t : R) (P Q : law R T) (P' Q' : law R U) :
  0 <= s -> pure s P Q -> pure t P' Q' -> pure (s * t) (product_law P P') (product_law Q Q').
Proof.
move=> s0 first second [x y]; rewrite /= /joint /=.
have -> : s * t * (Q x * Q' y) = s * Q x * (t * Q' y) by ring.
by apply: ler_pmul (first x) (second y); apply: mass_ge0.
Qed.

Theorem select_fixed n (f : outputs T n -> law R S) (P Q : law R T) t :
  0 <= t -> pure t P Q -> pure (t ^+ n) (push f (power_law P n)) (push f (power_law Q n)).
Proof.
move=> t0 most y; have all : pure (t ^+ n) (power_law P n) (power_law Q n).
  elim: n {f} => [|n IH] /=; first by move=> x; rewrite expr0 mul1r.
  by rewrite exprS; apply: pure_joint.
rewrite /= /after mulr_sumr; apply: ler_sum => x _; rewrite mulrA.
by rewrite ler_wpmul2r ?mass_ge0.
Qed.
End Fixed.
