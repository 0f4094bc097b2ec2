(** Samples of the records: every record takes part on its own (Poisson). *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From DP Require Import Laws Rules.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Sampling.
Variable R : realFieldType.

(** ** Mixtures *)

Section Mixture.
Variables (q : R) (q0 : 0 <= q) (q1 : q <= 1).

Lemma mix_ge0 (T : finType) (P Q : law R T) x : 0 <= (1 - q) * P x + q * Q x.
Proof. by rewrite addr_ge0 // mulr_ge0 ?subr_ge0 ?mass_ge0. Qed.

Lemma mix_sum (T : finType) (P Q : law R T) : \sum_x ((1 - q) * P x + q * Q x) = 1.
Proof. by rewrite big_split /= -!mulr_sumr !mass_sum !mulr1 subrK. Qed.

(** With probability q the second law. *)
Definition mix (T : finType) (P Q : law R T) : law R T := Law (mix_ge0 P Q) (mix_sum P Q).

Lemma mix_dominated (T S : finType) (P P' Q Q' : law R T) (A B : S -> R) :
  dominated P Q A B -> dominated P' Q' A B -> dominated (mix P P') (mix Q Q') A B.
Proof.
move=> first second t t0.
apply: (@le_trans _ _ ((1 - q) * hockey t P Q + q * hockey t P' Q')).
  rewrite /hockey !mulr_sumr -big_split /=; apply: ler_sum => x _.
  rewrite -!pos_mul ?subr_ge0 //; apply: le_trans (pos_add _ _).
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; congr pos; ring.
apply: (@le_trans _ _ ((1 - q) * hockey t A B + q * hockey t A B)); last by rewrite -mulrDl subrK mul1r.
by rewrite ler_add // ler_wpmul2l ?subr_ge0 // ?first ?second.
Qed.

(** ** One record that takes part with probability q: against a dataset without it, and back. *)

Lemma mix_gap (T : finType) (P Q : law R T) t : hockey t (mix Q P) Q = gap q (t - (1 - q)) P Q.
Proof. by apply: eq_bigr => x _ /=; congr pos; ring. Qed.

Lemma gap_negative (T : finType) (P Q : law R T) a b : 0 <= a -> b <= 0 -> gap a b P Q = a - b.
Proof.
move=> a0 b0; rewrite /gap (eq_bigr (fun x => a * P x - b * Q x)) => [|x _].
  by rewrite sumrB -!mulr_sumr !mass_sum !mulr1.
by rewrite pos_id // subr_ge0; apply: (@le_trans _ _ 0); rewrite ?mulr_ge0 ?mulr_le0_ge0 ?mass_ge0.
Qed.

Theorem sampled_removal (T S : finType) (P Q : law R T) (A B : law R S) :
  dominated P Q A B -> dominated (mix Q P) Q (mix B A) B.
Proof.
move=> pair t t0; rewrite !mix_gap; case: (lerP (t - (1 - q)) 0) => [|/ltW] sign.
  by rewrite !gap_negative.
by apply: gap_dominated => // x; apply: mass_ge0.
Qed.

Lemma gap_mix (T : finType) (P Q : law R T) t : hockey t P (mix P Q) = gap (1 - t * (1 - q)) (t * q) P Q.
Proof. by apply: eq_bigr => x _ /=; congr pos; ring. Qed.

Lemma gap_nothing (T : finType) (P Q : law R T) a b : a <= 0 -> 0 <= b -> gap a b P Q = 0.
Proof.
move=> a0 b0; apply: big1 => x _; rewrite pos_0 // subr_le0.
by apply: (@le_trans _ _ 0); rewrite ?mulr_ge0 ?mulr_le0_ge0 ?mass_ge0.
Qed.

Theorem sampled_addition (T S : finType) (P Q : law R T) (A B : law R S) :
  dominated P Q A B -> dominated P (mix P Q) A (mix A B).
Proof.
move=> pair t t0; rewrite !gap_mix.
have tq0 : 0 <= t * q by rewrite mulr_ge0.
case: (lerP (1 - t * (1 - q)) 0) => [|/ltW] sign; first by rewrite !gap_nothing.
by apply: gap_dominated => // x; apply: mass_ge0.
Qed.

(** ** subsample/poisson: every record of a list takes part on its own. *)

Variables (X : Type) (T : finType).

Fixpoint poisson (M : seq X -> law R T) (d : seq X) : law R T :=
  if d is x :: rest then mix (poisson M rest) (poisson (fun s => M (x :: s)) rest) else M [::].

(** The second list lacks one record of the first one; the order of the others is the same. *)
Inductive lacks : seq X -> seq X -> Prop :=
  | Lacks d x e : lacks (d ++ x :: e) (d ++ e).

Lemma poisson_dominated (S : finType) (F G : seq X -> law R T) (A B : S -> R) d :
  (forall s, dominated (F s) (G s) A B) -> dominated (poisson F d) (poisson G d) A B.
Proof.
elim: d F G => [|x d IH] F G all /=; first exact: all.
by apply: mix_dominated; apply: IH => // s; apply: all.
Qed.

Lemma poisson_mix (F G : seq X -> law R T) d y :
  mix (poisson F d) (poisson G d) y = poisson (fun s => mix (F s) (G s)) d y.
Proof.
elim: d F G y => [|x d IH] F G y //=.
rewrite -IH -(IH (fun s => F (x :: s))) /=; ring.
Qed.

Lemma dominated_eq (S U : finType) (P Q P' Q' : U -> R) (A B : S -> R) :
  P =1 P' -> Q =1 Q' -> dominated P' Q' A B -> dominated P Q A B.
Proof.
move=> same same' pair t t0; apply: le_trans (pair t t0).
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => x _; rewrite same same'.
Qed.

Theorem poisson_removal (S : finType) (M : seq X -> law R T) (A B : law R S) :
  has_pair lacks M A B -> has_pair lacks (poisson M) (mix B A) B.
Proof.
move=> pair _ _ [d x e].
elim: d M pair => [|y d IH] M pair /=; last first.
  by apply: mix_dominated; apply: IH => // _ _ [d' x' e']; apply: pair; apply: (@Lacks (y :: d')).
apply: dominated_eq (poisson_mix _ _ _) (fun=> erefl) _.
apply: poisson_dominated => s; apply: sampled_removal.
by apply: pair; apply: (@Lacks [::]).
Qed.

Theorem poisson_addition (S : finType) (M : seq X -> law R T) (A B : law R S) :
  has_pair (fun d d' => lacks d' d) M A B -> has_pair (fun d d' => lacks d' d) (poisson M) A (mix A B).
Proof.
move=> pair d0 d1 lack; case: lack pair => d x e pair.
elim: d M pair => [|y d IH] M pair /=; last first.
  apply: mix_dominated; apply: IH => // a b lack; case: lack => d' x' e'.
  by apply: pair; apply: (@Lacks (y :: d')).
apply: dominated_eq (fun=> erefl) (poisson_mix _ _ _) _.
apply: poisson_dominated => s; apply: sampled_addition.
by apply: pair; apply: (@Lacks [::]).
Qed.

End Mixture.
End Sampling.
