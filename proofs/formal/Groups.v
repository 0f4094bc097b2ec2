(** Datasets several steps apart, and one of several mechanisms drawn by a public law. *)
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring.
From DP Require Import Laws Rules.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Groups.
Variables (R : realFieldType) (D : Type) (T : finType).
Implicit Types (N : relation D) (M : mechanism R D T).

(** Up to [k] steps apart, each of which may be none. *)
Fixpoint within N (k : nat) (d d' : D) : Prop :=
  if k is j.+1 then exists2 e, d = e \/ N d e & within N j e d' else d = d'.

Lemma within_add N j k d d' :
  within N (j + k) d d' -> exists2 e, within N j d e & within N k e d'.
Proof.
elim: j d => [|j IH] d /=; first by exists d.
by move=> [e step /IH [f near far]]; exists f => //; exists e.
Qed.

(** Steps of [m] steps each: what [group/*] says of a premise about several steps. *)
Lemma within_mul N m k d d' : within N (k * m) d d' -> within (within N m) k d d'.
Proof.
elim: k d => [|k IH] d //=; rewrite mulSn => /within_add [e near far].
by exists e; [right | apply: IH].
Qed.

(** ** group/pure-dp *)

Theorem group_pure N M t k :
  1 <= t -> (forall d d', N d d' -> pure t (M d) (M d')) ->
  forall d d', within N k d d' -> pure (t ^+ k) (M d) (M d').
Proof.
move=> t1 private; elim: k => [|k IH] d d' /=; first by move=> <- x; rewrite expr0 mul1r.
move=> [e step /IH far] x; rewrite exprS -mulrA.
have t0 : 0 <= t by apply: le_trans t1; apply: ler01.
apply: (@le_trans _ _ (t * M e x)); last by rewrite ler_wpmul2l.
case: step => [->|/private]; last exact.
by rewrite -[X in X <= _]mul1r ler_wpmul2r ?mass_ge0.
Qed.

(** ** group/approx-dp: delta (t^k - 1) / (t - 1), as a sum, so that t may be 1. *)

Theorem group_approx N M t delta k :
  1 <= t -> 0 <= delta -> has_approx N M t delta ->
  has_approx (within N k) M (t ^+ k) (delta * \sum_(i < k) t ^+ i).
Proof.
move=> t1 delta0 private; have t0 : 0 <= t by apply: le_trans t1; apply: ler01.
elim: k => [|k IH] d d' /= => [<- E|[e step /IH far] E].
  by rewrite expr0 mul1r big_ord0 mulr0 addr0.
have near : \sum_(x | E x) M d x <= t * (\sum_(x | E x) M e x) + delta.
  case: step => [->|/private]; last exact.
  rewrite -[X in X <= _]addr0 ler_add // -[X in X <= _]mul1r ler_wpmul2r //.
  by apply: sumr_ge0 => x _; apply: mass_ge0.
apply: le_trans near _.
have -> : t ^+ k.+1 * (\sum_(x | E x) M d' x) + delta * (\sum_(i < k.+1) t ^+ i) =
    t * (t ^+ k * (\sum_(x | E x) M d' x) + delta * (\sum_(i < k) t ^+ i)) + delta.
  have -> : \sum_(i < k.+1) t ^+ i = 1 + t * \sum_(i < k) t ^+ i.
    by rewrite big_ord_recl expr0 mulr_sumr; congr (_ + _); apply: eq_bigr => i _; rewrite exprS.
  rewrite exprS; move: (\sum_(i < k) _) (\sum_(x | _) _) (t ^+ k) => powers mass power; ring.
by rewrite ler_add2r ler_wpmul2l.
Qed.

(** The closed form that the checker computes. *)
Lemma sum_of_powers (t : R) k : t != 1 -> \sum_(i < k) t ^+ i = (t ^+ k - 1) / (t - 1).
Proof. by move=> t1; rewrite subrX1 mulrAC divff ?mul1r // subr_eq0. Qed.

(** ** group/bounded-range: the ratio stays between u / t and u. *)

Definition bounded_range (t : R) (P Q : T -> R) : Prop :=
  exists2 u, 0 < u & forall x, P x <= u * Q x /\ u * Q x <= t * P x.

Theorem group_bounded_range N M t k :
  1 <= t -> (forall d d', N d d' -> bounded_range t (M d) (M d')) ->
  forall d d', within N k d d' -> bounded_range (t ^+ k) (M d) (M d').
Proof.
move=> t1 private; have t0 : 0 <= t by apply: le_trans t1; apply: ler01.
elim: k => [|k IH] d d' /=; first by move=> <-; exists 1 => // x; rewrite expr0 !mul1r.
move=> [e step /IH [v v0 far]].
have [u u0 near] : bounded_range t (M d) (M e).
  case: step => [->|/private //]; exists 1 => // x; rewrite mul1r; split=> //.
  by rewrite -[X in X <= _]mul1r ler_wpmul2r ?mass_ge0.
exists (u * v) => [|x]; first exact: mulr_gt0.
have [[low high] [low' high']] := (near x, far x); rewrite -mulrA; split.
  by apply: le_trans low _; rewrite ler_wpmul2l // ltW.
apply: (@le_trans _ _ (u * (t ^+ k * M e x))); first by rewrite ler_wpmul2l // ltW.
by rewrite mulrCA exprSr -mulrA ler_wpmul2l // exprn_ge0.
Qed.

(** ** group/trade-off: the power of every test, after j and after k steps. *)

Definition test (phi : T -> R) : Prop := forall x, 0 <= phi x <= 1.
Definition seen (P phi : T -> R) : R := \sum_x P x * phi x.

Definition has_power (N : relation D) M (F : R -> R) : Prop :=
  forall d d', N d d' -> forall phi, test phi -> seen (M d) phi <= F (seen (M d') phi).

Lemma seen_ge0 (P : law R T) phi : test phi -> 0 <= seen P phi.
Proof. by move=> all; apply: sumr_ge0 => x _; have /andP [? _] := all x; rewrite mulr_ge0 ?mass_ge0. Qed.

Lemma seen_le1 (P : law R T) phi : test phi -> seen P phi <= 1.
Proof.
move=> all; rewrite -(mass_sum P); apply: ler_sum => x _; have /andP [_ ?] := all x.
by rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?mass_ge0.
Qed.

Theorem group_trade_off N M (F G : R -> R) j k :
  (forall a b, 0 <= a -> a <= b -> b <= 1 -> F a <= F b) -> (forall a, 0 <= a -> G a <= 1) ->
  has_power (within N j) M F -> has_power (within N k) M G ->
  has_power (within N (j + k)) M (F \o G).
Proof.
move=> grows most near far d d' /within_add [e /near first /far second] phi all /=.
apply: le_trans (first phi all) _; apply: grows (seen_ge0 _ all) (second phi all) _.
exact: most (seen_ge0 _ all).
Qed.

(** ** choice: a public law draws which mechanism runs; the draw may be released. *)

Section Choice.
Variables (I : finType) (p : law R I) (T_ : I -> finType).

Definition drawn_mass (P : forall i, T_ i -> R) (z : {i : I & T_ i}) : R := p (tag z) * P (tag z) (tagged z).

Lemma drawn_sum (F : {i : I & T_ i} -> R) : \sum_z F z = \sum_i \sum_(x : T_ i) F (Tagged T_ x).
Proof. by rewrite sig_big_dep /=; apply: eq_bigr => -[i x]. Qed.

Lemma drawn_ge0 (P : forall i, law R (T_ i)) z : 0 <= drawn_mass P z.
Proof. by rewrite mulr_ge0 ?mass_ge0. Qed.

Lemma drawn_mass_sum (P : forall i, law R (T_ i)) : \sum_z drawn_mass P z = 1.
Proof.
rewrite drawn_sum /= -[RHS](mass_sum p); apply: eq_bigr => i _.
by rewrite /drawn_mass /= -mulr_sumr mass_sum mulr1.
Qed.

Definition drawn (P : forall i, law R (T_ i)) : law R _ := Law (drawn_ge0 P) (drawn_mass_sum P).

(** Every divergence that scales with both masses is the mean of the parts'. Those of Renyi's, e^((a - 1) D_a),
    are such ones, and so is the hockey-stick divergence. *)
Theorem choice_divergence (phi : R -> R -> R) (P Q : forall i, law R (T_ i)) :
  (forall c x y, 0 <= c -> phi (c * x) (c * y) = c * phi x y) ->
  \sum_z phi (drawn P z) (drawn Q z) = \sum_i p i * \sum_x phi (P i x) (Q i x).
Proof.
move=> scales; rewrite drawn_sum; apply: eq_bigr => i _; rewrite mulr_sumr.
by apply: eq_bigr => x _; rewrite -scales ?mass_ge0.
Qed.

Lemma mean_le (F : I -> R) a : (forall i, F i <= a) -> \sum_i p i * F i <= a.
Proof.
move=> all; rewrite -[X in _ <= X]mul1r -(mass_sum p) mulr_suml; apply: ler_sum => i _.
by rewrite ler_wpmul2l ?mass_ge0.
Qed.

Theorem choice_largest (phi : R -> R -> R) (P Q : forall i, law R (T_ i)) a :
  (forall c x y, 0 <= c -> phi (c * x) (c * y) = c * phi x y) ->
  (forall i, \sum_x phi (P i x) (Q i x) <= a) -> \sum_z phi (drawn P z) (drawn Q z) <= a.
Proof. by move=> scales all; rewrite choice_divergence //; apply: mean_le. Qed.

Lemma hockey_drawn (P Q : forall i, law R (T_ i)) t :
  hockey t (drawn P) (drawn Q) = \sum_i p i * hockey t (P i) (Q i).
Proof.
apply: (choice_divergence (phi := fun x y => pos (x - t * y))) => c x y c0.
by rewrite -pos_mul // mulrBr [t * (c * y)]mulrCA.
Qed.

Definition choose (M : forall i, mechanism R D (T_ i)) : mechanism R D _ := fun d => drawn (fun i => M i d).

Theorem choice_pair (S : finType) (N : relation D) (M : forall i, mechanism R D (T_ i)) (A B : S -> R) :
  (forall i, has_pair N (M i) A B) -> has_pair N (choose M) A B.
Proof.
move=> all d d' neighbours t t0; rewrite hockey_drawn; apply: mean_le => i.
exact: all neighbours t t0.
Qed.

Theorem choice_pure (N : relation D) (M : forall i, mechanism R D (T_ i)) (t : I -> R) a :
  (forall i, t i <= a) -> (forall i d d', N d d' -> pure (t i) (M i d) (M i d')) ->
  forall d d', N d d' -> pure a (choose M d) (choose M d').
Proof.
move=> most all d d' neighbours [i x]; rewrite /choose /= /drawn_mass /= mulrCA ler_wpmul2l ?mass_ge0 //.
by apply: le_trans (all i d d' neighbours x) _; rewrite ler_wpmul2r ?mass_ge0.
Qed.

End Choice.

(** ** mixture: every mechanism with a pair of its own; the pair draws by the same law. *)

Theorem mixture_pair (I : finType) (p : law R I) (T_ S_ : I -> finType) (N : relation D)
    (M : forall i, mechanism R D (T_ i)) (A B : forall i, law R (S_ i)) :
  (forall i, has_pair N (M i) (A i) (B i)) -> has_pair N (choose p M) (drawn p A) (drawn p B).
Proof.
move=> all d d' neighbours t t0; rewrite !hockey_drawn; apply: ler_sum => i _.
by rewrite ler_wpmul2l ?mass_ge0 //; apply: all neighbours t t0.
Qed.

End Groups.
