(** Laws on finite spaces, hockey-stick divergences, and what dominates what.

    A law is a function on a finite type with masses that are at least 0 and add up to 1. All results
    hold in every ordered field: no axiom is used. [hockey t P Q] is the divergence at e^epsilon = t. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section PositivePart.
Variable R : realFieldType.

Definition pos (a : R) : R := Num.max a 0.

Lemma pos_ge0 a : 0 <= pos a.
Proof. by rewrite /pos le_maxr lexx orbT. Qed.

Lemma pos_ge a : a <= pos a.
Proof. by rewrite /pos le_maxr lexx. Qed.

Lemma pos_le a b : a <= b -> 0 <= b -> pos a <= b.
Proof. by move=> ab b0; rewrite /pos le_maxl ab b0. Qed.

Lemma pos_id a : 0 <= a -> pos a = a.
Proof. by move=> a0; apply/max_idPl. Qed.

Lemma pos_0 a : a <= 0 -> pos a = 0.
Proof. by move=> a0; apply/max_idPr. Qed.

Lemma pos_mono a b : a <= b -> pos a <= pos b.
Proof. by move=> ab; apply: pos_le (pos_ge0 _); apply: le_trans ab (pos_ge _). Qed.

Lemma pos_add a b : pos (a + b) <= pos a + pos b.
Proof. by apply: pos_le; [apply: ler_add (pos_ge _) (pos_ge _) | apply: addr_ge0 (pos_ge0 _) (pos_ge0 _)]. Qed.

Lemma pos_mul c a : 0 <= c -> pos (c * a) = c * pos a.
Proof. by move=> c0; rewrite /pos maxr_pmulr // mulr0. Qed.

Lemma pos_sum (I : Type) (r : seq I) (p : pred I) (F : I -> R) :
  pos (\sum_(i <- r | p i) F i) <= \sum_(i <- r | p i) pos (F i).
Proof.
elim/big_rec2: _ => [|i s a _ IH]; first by rewrite /pos maxxx.
by apply: le_trans (pos_add _ _) _; rewrite ler_add2l.
Qed.

(** The positive part is the larger of what an event that takes or leaves the point can give. *)
Lemma pos_if (b : bool) a : (if b then a else 0) <= pos a.
Proof. by case: b; [apply: pos_ge | apply: pos_ge0]. Qed.

Lemma pos_sub a : pos a - pos (- a) = a.
Proof.
case: (leP 0 a) => a0; first by rewrite pos_id // pos_0 ?oppr_le0 // subr0.
by rewrite pos_0 ?ltW // pos_id ?oppr_ge0 ?ltW // sub0r opprK.
Qed.

End PositivePart.

Section Laws.
Variable R : realFieldType.

Record law (T : finType) := Law {
  mass :> T -> R;
  mass_ge0 : forall x, 0 <= mass x;
  mass_sum : \sum_x mass x = 1
}.

(** [hockey t P Q] = sum of (P - tQ)+, for functions that need not be laws. *)
Definition hockey (T : finType) (t : R) (P Q : T -> R) : R := \sum_x pos (P x - t * Q x).

(** The same with a weight on both: composition and sampling are statements about [gap]. *)
Definition gap (T : finType) (a b : R) (P Q : T -> R) : R := \sum_x pos (a * P x - b * Q x).

Definition dominated (T S : finType) (P Q : T -> R) (A B : S -> R) : Prop :=
  forall t, 0 <= t -> hockey t P Q <= hockey t A B.

Lemma hockey_ge0 (T : finType) t (P Q : T -> R) : 0 <= hockey t P Q.
Proof. by apply: sumr_ge0 => x _; apply: pos_ge0. Qed.

Lemma gap_hockey (T : finType) a b (P Q : T -> R) : 0 < a -> gap a b P Q = a * hockey (b / a) P Q.
Proof.
move=> a0; rewrite /gap /hockey mulr_sumr; apply: eq_bigr => x _.
by rewrite -pos_mul ?ltW // mulrBr !mulrA [a * b]mulrC mulfK ?gt_eqF.
Qed.

Lemma gap_1 (T : finType) t (P Q : T -> R) : gap 1 t P Q = hockey t P Q.
Proof. by apply: eq_bigr => x _; rewrite mul1r. Qed.

Lemma gap_0 (T : finType) b (P Q : T -> R) :
  0 <= b -> (forall x, 0 <= Q x) -> gap 0 b P Q = 0.
Proof.
by move=> b0 Q0; apply: big1 => x _; rewrite mul0r sub0r pos_0 // oppr_le0 mulr_ge0.
Qed.

Lemma gap_dominated (T S : finType) (P Q : T -> R) (A B : S -> R) a b :
  (forall x, 0 <= Q x) -> (forall y, 0 <= B y) -> dominated P Q A B -> 0 <= a -> 0 <= b ->
  gap a b P Q <= gap a b A B.
Proof.
move=> Q0 B0 dom a0 b0; case: (eqVneq a 0) => [->|a1]; first by rewrite !gap_0.
have a2 : 0 < a by rewrite lt_neqAle eq_sym a1.
by rewrite !gap_hockey // ler_pmul2l // dom // divr_ge0.
Qed.

Lemma dominated_refl (T : finType) (P Q : T -> R) : dominated P Q P Q.
Proof. by move=> t _. Qed.

Lemma dominated_trans (T S U : finType) (P Q : T -> R) (A B : S -> R) (C D : U -> R) :
  dominated P Q A B -> dominated A B C D -> dominated P Q C D.
Proof. by move=> first second t t0; apply: le_trans (first t t0) (second t t0). Qed.

(** ** Events: (epsilon, delta) is a bound of the hockey-stick divergence. *)

Definition approx (T : finType) (t d : R) (P Q : T -> R) : Prop :=
  forall E : pred T, \sum_(x | E x) P x <= t * (\sum_(x | E x) Q x) + d.

Theorem approx_hockey (T : finType) t d (P Q : T -> R) : approx t d P Q <-> hockey t P Q <= d.
Proof.
split=> [all|most E].
  have := all (fun x => 0 <= P x - t * Q x).
  rewrite mulr_sumr -ler_subl_addl -sumrB.
  apply: le_trans; rewrite big_mkcond /=; apply: ler_sum => x _.
  by case: ifPn => sign; [rewrite pos_id | rewrite pos_0 // ltW // ltNge].
rewrite mulr_sumr -ler_subl_addl -sumrB; apply: le_trans most.
by rewrite big_mkcond /=; apply: ler_sum => x _; apply: pos_if.
Qed.

(** ** Functions of the output: a kernel is a law for every input. *)

Definition after (T S : finType) (K : T -> law S) (P : T -> R) (y : S) : R := \sum_x P x * K x y.

Lemma after_law_ge0 (T S : finType) (K : T -> law S) (P : law T) y : 0 <= after K P y.
Proof. by apply: sumr_ge0 => x _; rewrite mulr_ge0 ?mass_ge0. Qed.

Lemma after_law_sum (T S : finType) (K : T -> law S) (P : law T) : \sum_y after K P y = 1.
Proof.
rewrite exchange_big /= -[RHS](mass_sum P); apply: eq_bigr => x _.
by rewrite -mulr_sumr mass_sum mulr1.
Qed.

Definition push (T S : finType) (K : T -> law S) (P : law T) : law S :=
  Law (after_law_ge0 K P) (after_law_sum K P).

Theorem post_process (T S : finType) (K : T -> law S) (P Q : T -> R) :
  dominated (after K P) (after K Q) P Q.
Proof.
move=> t t0; apply: (@le_trans _ _ (\sum_y \sum_x pos (P x - t * Q x) * K x y)).
  apply: ler_sum => y _; rewrite mulr_sumr -sumrB; apply: le_trans (pos_sum _ _ _) _.
  apply: ler_sum => x _; rewrite mulrA -mulrBl mulrC [X in _ <= X]mulrC.
  by rewrite pos_mul ?mass_ge0.
rewrite exchange_big /=; apply: ler_sum => x _.
by rewrite -mulr_sumr mass_sum mulr1.
Qed.

(** ** Adaptive composition: the second step may look at the first one's output. *)

Definition joint (T S : finType) (P : T -> R) (P' : T -> S -> R) (z : T * S) : R :=
  P z.1 * P' z.1 z.2.

Definition product (T S : finType) (P : T -> R) (P' : S -> R) (z : T * S) : R := P z.1 * P' z.2.

Theorem compose_dominated (T S U V : finType) (P Q : law T) (P' Q' : T -> law S)
    (A B : U -> R) (A' B' : V -> R) :
  (forall u, 0 <= B u) -> (forall v, 0 <= A' v) -> (forall v, 0 <= B' v) -> dominated P Q A B -> (forall x, dominated (P' x) (Q' x) A' B') ->
  dominated (joint P P') (joint Q Q') (product A A') (product B B').
Proof.
move=> B0 A'0 B'0 first second t t0; rewrite /hockey.
rewrite -(pair_bigA _ (fun x y => pos (P x * P' x y - t * (Q x * Q' x y)))) /=.
apply: (@le_trans _ _ (\sum_x gap (P x) (t * Q x) A' B')).
  apply: ler_sum => x _; rewrite (eq_bigr (fun y => pos (P x * P' x y - t * Q x * Q' x y))).
    by apply: gap_dominated; rewrite ?mulr_ge0 ?mass_ge0 // => y; apply: mass_ge0.
  by move=> y _; rewrite mulrA.
rewrite /gap exchange_big /=.
rewrite -(pair_bigA _ (fun u v => pos (A u * A' v - t * (B u * B' v)))) /=.
rewrite [X in _ <= X]exchange_big /=.
apply: ler_sum => v _.
have swap (X : finType) (F G : X -> R) :
    \sum_x pos (F x * A' v - t * (G x * B' v)) = gap (A' v) (t * B' v) F G.
  by apply: eq_bigr => x _; congr pos; ring.
rewrite swap (eq_bigr (fun x => pos (A' v * P x - t * B' v * Q x))) => [|x _]; last by congr pos; ring.
by apply: gap_dominated; rewrite ?mulr_ge0 // => x; apply: mass_ge0.
Qed.

Lemma joint_ge0 (T S : finType) (P : law T) (P' : T -> law S) z : 0 <= joint P P' z.
Proof. by rewrite mulr_ge0 ?mass_ge0. Qed.

Lemma joint_sum (T S : finType) (P : law T) (P' : T -> law S) : \sum_z joint P P' z = 1.
Proof.
rewrite -(pair_bigA _ (fun x y => P x * P' x y)) /= -[RHS](mass_sum P).
by apply: eq_bigr => x _; rewrite -mulr_sumr mass_sum mulr1.
Qed.

Definition joint_law (T S : finType) (P : law T) (P' : T -> law S) : law _ :=
  Law (joint_ge0 P P') (joint_sum P P').

Definition product_law (T S : finType) (P : law T) (P' : law S) : law _ :=
  joint_law P (fun=> P').

End Laws.
