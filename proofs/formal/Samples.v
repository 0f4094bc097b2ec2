(** Samples of a fixed size, and mixtures against a point or beside a common part. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From mathcomp Require Import ring.
From DP Require Import Laws Rules Groups Sampling.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Means over equally likely samples *)

Section Means.
Variables (R : realFieldType) (Omega : finType) (T : finType).
Hypothesis some : (0 < #|Omega|)%N.

Let size : R := #|Omega|%:R.
Let size_gt0 : 0 < size. Proof. by rewrite ltr0n. Qed.

Definition mean_mass (F : Omega -> law R T) (y : T) : R := (\sum_S F S y) / size.

Lemma mean_ge0 (F : Omega -> law R T) y : 0 <= mean_mass F y.
Proof. by apply: divr_ge0 (ltW size_gt0); apply: sumr_ge0 => S _; apply: mass_ge0. Qed.

Lemma mean_sum (F : Omega -> law R T) : \sum_y mean_mass F y = 1.
Proof.
rewrite -mulr_suml exchange_big /= (eq_bigr (fun=> 1)) => [|S _]; last exact: mass_sum.
by rewrite sumr_const divff // gt_eqF.
Qed.

Definition mean (F : Omega -> law R T) : law R T := Law (mean_ge0 F) (mean_sum F).

Lemma hockey_mean (F G : Omega -> law R T) t :
  hockey t (mean F) (mean G) = (\sum_y pos (\sum_S F S y - t * \sum_S G S y)) / size.
Proof.
rewrite /hockey mulr_suml; apply: eq_bigr => y _ /=.
by rewrite /mean_mass mulrA -mulrBl mulrC pos_mul 1?mulrC // invr_ge0 ltW.
Qed.
End Means.

(** ** subsample/without-replacement: samples that hold m of n places, and exchange one for another. *)

Section Exchange.
Variables (R : realFieldType) (n m : nat) (Omega : finType).
Variables (holds : Omega -> pred 'I_n) (swap : 'I_n -> 'I_n -> Omega -> Omega).
Hypothesis some : (0 < #|Omega|)%N.
Hypotheses (m0 : (0 < m)%N) (m_n : (m < n)%N).
Hypothesis holds_m : forall S, #|holds S| = m.
Hypothesis swapK : forall i j, involutive (swap i j).
Hypothesis held : forall i j S x, holds (swap i j S) x = holds S (tperm i j x).

Lemma held_left i j S : holds (swap i j S) i = holds S j. Proof. by rewrite held tpermL. Qed.
Lemma held_right i j S : holds (swap i j S) j = holds S i. Proof. by rewrite held tpermR. Qed.

Variable i : 'I_n.
Let N : R := #|Omega|%:R.
Let W : R := \sum_(S | holds S i) 1.
Let q : R := m%:R / n%:R.

Let n0 : 0 < n%:R :> R. Proof. by rewrite ltr0n (leq_ltn_trans _ m_n). Qed.
Let mR0 : 0 < m%:R :> R. Proof. by rewrite ltr0n. Qed.
Let nm0 : 0 < n%:R - m%:R :> R. Proof. by rewrite subr_gt0 ltr_nat. Qed.
Let N0 : 0 < N. Proof. by rewrite ltr0n. Qed.
Let q0 : 0 < q. Proof. exact: divr_gt0. Qed.

(** Every place is held equally often. *)
Lemma held_share : W = q * N.
Proof.
have each j : \sum_(S | holds S j) 1 = W.
  rewrite /W (reindex_inj (inv_inj (swapK i j))) /=; apply: eq_bigl => S; exact: held_right.
have : \sum_j \sum_(S | holds S j) 1 = m%:R * N :> R.
  rewrite (exchange_big_dep xpredT) //= (eq_bigr (fun=> m%:R)) => [|S _].
    by rewrite sumr_const -mulr_natr.
  by rewrite sumr_const holds_m.
rewrite (eq_bigr (fun=> W)) => [|j _]; last exact: each.
rewrite sumr_const card_ord -[W *+ n]mulr_natl => total.
have n1 : n%:R != 0 :> R by rewrite gt_eqF.
by apply: (mulfI n1); rewrite total mulrA [n%:R * q]mulrC divfK.
Qed.

Lemma exchanged (G : Omega -> R) :
  \sum_j \sum_(S | holds S i && ~~ holds S j) G (swap i j S) = m%:R * \sum_(S | ~~ holds S i) G S.
Proof.
have one j : \sum_(S | holds S i && ~~ holds S j) G (swap i j S) = \sum_(S | ~~ holds S i && holds S j) G S.
  rewrite (reindex_inj (inv_inj (swapK i j))) /=; apply: eq_big => S; last by rewrite swapK.
  by rewrite held_left held_right andbC.
rewrite (eq_bigr _ (fun j _ => one j)) (exchange_big_dep (fun S => ~~ holds S i)) /=; last by move=> j S _ /andP [].
rewrite mulr_sumr; apply: eq_bigr => S /= out.
by rewrite (eq_bigl (holds S)) => [|j]; rewrite ?out // sumr_const holds_m mulr_natl.
Qed.

Lemma kept (G : Omega -> R) :
  \sum_j \sum_(S | holds S i && ~~ holds S j) G S = (n%:R - m%:R) * \sum_(S | holds S i) G S.
Proof.
rewrite (exchange_big_dep (fun S => holds S i)) /=; last by move=> j S _ /andP [].
rewrite mulr_sumr; apply: eq_bigr => S /= inside.
rewrite (eq_bigl (predC (holds S))) => [|j]; rewrite ?inside // sumr_const.
have rest : #|predC (holds S)| = (n - m)%N by apply/eqP; rewrite -(eqn_add2l m) subnKC 1?ltnW // -{1}(holds_m S) cardC card_ord.
by rewrite rest -[LHS]mulr_natl natrB // ltnW.
Qed.

Variables (T U : finType) (A B : U -> R) (F F' : Omega -> law R T).
Hypothesis same : forall S, ~~ holds S i -> F S =1 F' S.
Hypothesis moved : forall S, holds S i -> dominated (F S) (F' S) A B.
Hypothesis replaced : forall S j, holds S i -> ~~ holds S j -> dominated (F S) (F (swap i j S)) A B.

Theorem fixed_size t : 1 <= t ->
  hockey t (mean some F) (mean some F') <= q * hockey (1 + (t - 1) / q) A B.
Proof.
move=> t1; set a := 1 + (t - 1) / q; set h := hockey a A B.
have over0 : 0 <= (t - 1) / q by rewrite divr_ge0 ?subr_ge0 // ltW.
have a0 : 0 < a by rewrite ltr_paddr.
pose u1 y := \sum_(S | holds S i) F S y.
pose u1' y := \sum_(S | holds S i) F' S y.
pose u0 y := \sum_(S | ~~ holds S i) F S y.
have W0 : 0 <= W by apply: sumr_ge0 => S _; apply: ler01.
have with_record : \sum_y pos (u1 y - a * u1' y) <= W * h.
  apply: (@le_trans _ _ (\sum_y \sum_(S | holds S i) pos (F S y - a * F' S y))).
    by apply: ler_sum => y _; rewrite mulr_sumr -sumrB; apply: pos_sum.
  rewrite exchange_big /= mulr_suml; apply: ler_sum => S inside.
  by rewrite mul1r; apply: moved => //; apply: ltW.
have without : \sum_y pos ((n%:R - m%:R) * u1 y - a * (m%:R * u0 y)) <= (n%:R - m%:R) * (W * h).
  apply: (@le_trans _ _ (\sum_y \sum_j \sum_(S | holds S i && ~~ holds S j)
      pos (F S y - a * F (swap i j S) y))).
    apply: ler_sum => y _; rewrite -(kept (fun S => F S y)) -(exchanged (fun S => F S y)) mulr_sumr -sumrB.
    apply: le_trans (pos_sum _ _ _) _; apply: ler_sum => j _.
    by rewrite mulr_sumr -sumrB; apply: pos_sum.
  rewrite exchange_big /= mulrA /W -kept mulr_suml; apply: ler_sum => j _.
  rewrite exchange_big /= mulr_suml; apply: ler_sum => S /andP [inside outside].
  by rewrite mul1r; apply: replaced => //; apply: ltW.
(* The weights of both comparisons: 1 - b, divided by n - m, and b = t / a. *)
have ta : t <= a.
  rewrite /a -ler_subl_addl ler_pdivl_mulr // -[X in _ <= X]mulr1 ler_wpmul2l ?subr_ge0 //.
  by rewrite /q ler_pdivr_mulr // mul1r ler_nat ltnW.
have b0 : 0 <= t / a by rewrite divr_ge0 ?(le_trans ler01 t1) // ltW.
have b1 : 0 <= 1 - t / a by rewrite subr_ge0 ler_pdivr_mulr // mul1r.
pose c := (1 - t / a) / (n%:R - m%:R).
have c0 : 0 <= c by rewrite divr_ge0 // ltW.
have cn : c * (n%:R - m%:R) = 1 - t / a by rewrite /c divfK // gt_eqF.
have split y : \sum_S F S y - t * (\sum_S F' S y) =
    c * ((n%:R - m%:R) * u1 y - a * (m%:R * u0 y)) + t / a * (u1 y - a * u1' y).
  have -> : \sum_S F S y = u1 y + u0 y by rewrite (bigID (fun S => holds S i)).
  have -> : \sum_S F' S y = u1' y + u0 y.
    by rewrite (bigID (fun S => holds S i)) /=; congr (_ + _); apply: eq_bigr => S out; rewrite same.
  have ba : t / a * a = t by rewrite divfK // gt_eqF.
  have aq : a * m%:R = m%:R + (t - 1) * n%:R.
    by rewrite /a mulrDl mul1r /q invf_div mulrA divfK // gt_eqF.
  have cam : c * (a * m%:R) = t - 1.
    have nm1 : n%:R - m%:R != 0 :> R by rewrite gt_eqF.
    apply: (mulIf nm1).
    have -> : c * (a * m%:R) * (n%:R - m%:R) = (1 - t / a) * (a * m%:R) by rewrite -cn; ring.
    have -> : (1 - t / a) * (a * m%:R) = a * m%:R - (t / a * a) * m%:R by ring.
    by rewrite ba aq; ring.
  have -> : c * ((n%:R - m%:R) * u1 y - a * (m%:R * u0 y)) + t / a * (u1 y - a * u1' y) =
      c * (n%:R - m%:R) * u1 y - c * (a * m%:R) * u0 y + t / a * u1 y - t / a * a * u1' y by ring.
  by rewrite cn cam ba; ring.
rewrite hockey_mean ler_pdivr_mulr // mulrAC -/N -held_share.
apply: (@le_trans _ _ (\sum_y (c * pos ((n%:R - m%:R) * u1 y - a * (m%:R * u0 y)) +
    t / a * pos (u1 y - a * u1' y)))).
  by apply: ler_sum => y _; rewrite split -!pos_mul //; apply: pos_add.
rewrite big_split /= -!mulr_sumr.
have -> : W * h = c * ((n%:R - m%:R) * (W * h)) + t / a * (W * h).
  by rewrite [c * _]mulrA cn; ring.
by rewrite ler_add // ler_wpmul2l.
Qed.
End Exchange.

(** ** Samples as lists in random order: one place is replaced. *)

Section Ordered.
Variables (R : realFieldType) (n m : nat).
Hypotheses (m0 : (0 < m)%N) (m_n : (m < n)%N).

Definition order : finType := [finType of {f : {ffun 'I_m -> 'I_n} | injectiveb f}].

Lemma order_inj (f : order) : injective (val f). Proof. exact/injectiveP/(valP f). Qed.

Lemma swap_subproof i j (f : order) : injectiveb [ffun k => tperm i j (val f k)].
Proof. by apply/injectiveP => k l; rewrite !ffunE => /perm_inj /order_inj. Qed.

Definition swap_order i j (f : order) : order := exist (fun g : {ffun 'I_m -> 'I_n} => is_true (injectiveb g)) _ (swap_subproof i j f).
Definition placed (f : order) : pred 'I_n := [pred x | x \in codom (val f)].

Lemma orders_exist : (0 < #|order|)%N.
Proof.
have inj : injectiveb [ffun k : 'I_m => widen_ord (ltnW m_n) k].
  by apply/injectiveP => k l; rewrite !ffunE => /(congr1 val) /= /val_inj.
by apply/card_gt0P; exists (exist (fun g : {ffun 'I_m -> 'I_n} => is_true (injectiveb g)) _ inj).
Qed.

Lemma placed_m f : #|placed f| = m.
Proof. by rewrite (eq_card (_ : placed f =i codom (val f))) // card_codom ?card_ord //; apply: order_inj. Qed.

Lemma swap_orderK i j : involutive (swap_order i j).
Proof. by move=> f; apply/val_inj/ffunP => k; rewrite !ffunE tpermK. Qed.

Lemma placed_swap i j f x : placed (swap_order i j f) x = placed f (tperm i j x).
Proof.
apply/codomP/codomP => -[k]; rewrite ?ffunE => at_k; exists k; first by rewrite at_k tpermK.
by rewrite ffunE -at_k tpermK.
Qed.

Variables (X : Type) (T U : finType).

(** The records of [k] places, of which one may differ. *)
Definition in_place (k : nat) (d d' : {ffun 'I_k -> X}) : Prop := exists i, forall x, x != i -> d x = d' x.

Definition ordered (M : mechanism R {ffun 'I_m -> X} T) (d : {ffun 'I_n -> X}) : law R T :=
  mean orders_exist (fun f : order => M [ffun k => d (val f k)]).

Theorem without_replacement_ordered (M : mechanism R {ffun 'I_m -> X} T) (A B : U -> R) d d' t :
  has_pair (@in_place m) M A B -> in_place d d' -> 1 <= t ->
  hockey t (ordered M d) (ordered M d') <= m%:R / n%:R * hockey (1 + (t - 1) / (m%:R / n%:R)) A B.
Proof.
move=> pair [i elsewhere] t1.
apply: (fixed_size orders_exist m0 m_n placed_m swap_orderK placed_swap (i := i)) => // [f out y|f|f j].
- congr (M _ y); apply/ffunP => k; rewrite !ffunE; apply: elsewhere.
  by apply: contra out => /eqP <-; apply: codom_f.
- move=> /codomP [k at_k]; apply: pair; exists k => l other; rewrite !ffunE; apply: elsewhere.
  by apply: contra other; rewrite at_k => /eqP /order_inj ->.
move=> /codomP [k at_k] out; apply: pair; exists k => l other; rewrite !ffunE tpermD //.
  by apply: contra other; rewrite at_k => /eqP /order_inj ->.
by apply: contra out => /eqP ->; apply: codom_f.
Qed.
End Ordered.

(** ** Samples as sets: lists that differ in one record, in any order. *)

Section Unordered.
Variables (R : realFieldType) (n m : nat).
Hypotheses (m0 : (0 < m)%N) (m_n : (m < n)%N).

Definition subset : finType := [finType of {S : {set 'I_n} | #|S| == m}].

Lemma swap_set_subproof i j (S : subset) : #|[set x | tperm i j x \in val S]| == m.
Proof. by rewrite -[X in _ == X](eqP (valP S)) (card_preimset (val S) (@perm_inj _ (tperm i j))). Qed.

Definition swap_set i j (S : subset) : subset := exist (fun C : {set 'I_n} => is_true (#|C| == m)) _ (swap_set_subproof i j S).

Lemma subsets_exist : (0 < #|subset|)%N.
Proof.
have size : #|[set widen_ord (ltnW m_n) k | k : 'I_m]| == m.
  by rewrite card_imset ?card_ord // => k l /(congr1 val) /= /val_inj.
by apply/card_gt0P; exists (exist (fun C : {set 'I_n} => is_true (#|C| == m)) _ size).
Qed.

Variables (X : eqType) (T U : finType).

Definition one_replaced (s s' : seq X) : Prop :=
  exists x, exists x', exists2 r, perm_eq s (x :: r) & perm_eq s' (x' :: r).

Definition records (d : 'I_n -> X) (S : {set 'I_n}) : seq X := [seq d x | x <- enum S].

Definition unordered (M : mechanism R (seq X) T) (d : 'I_n -> X) : law R T :=
  mean subsets_exist (fun S : subset => M (records d (val S))).

Lemma records_at d (S : {set 'I_n}) i : i \in S -> perm_eq (records d S) (d i :: records d (S :\ i)).
Proof.
move=> inside; rewrite /records -map_cons; apply: perm_map; apply: uniq_perm; rewrite ?enum_uniq //=.
  by rewrite mem_enum !inE eqxx enum_uniq.
by move=> x; rewrite inE !mem_enum !inE; case: eqP => [->|].
Qed.

Theorem without_replacement (M : mechanism R (seq X) T) (A B : U -> R) (d d' : 'I_n -> X) i t :
  has_pair one_replaced M A B -> (forall x, x != i -> d x = d' x) -> 1 <= t ->
  hockey t (unordered M d) (unordered M d') <= m%:R / n%:R * hockey (1 + (t - 1) / (m%:R / n%:R)) A B.
Proof.
move=> pair elsewhere t1.
have same (S : {set 'I_n}) : i \notin S -> records d S = records d' S.
  move=> out; apply/eq_in_map => x; rewrite mem_enum => inside; apply: elsewhere.
  by apply: contra out => /eqP <-.
have out (S : {set 'I_n}) : i \notin S :\ i by rewrite !inE eqxx.
apply: (@fixed_size R n m subset (fun S => mem (val S)) swap_set subsets_exist m0 m_n
  _ _ _ i T U A B) => // [S|j k S|j k S x|S outside y|S inside|S j inside outside].
- exact/eqP/(valP S).
- by apply/val_inj/setP => x; rewrite !inE tpermK.
- by rewrite /= !inE.
- by rewrite same.
- apply: pair; exists (d i), (d' i), (records d (val S :\ i)); first exact: records_at.
  by rewrite same //; apply: records_at.
apply: pair; exists (d i), (d j), (records d (val S :\ i)); first exact: records_at.
have {}inside : i \in val S by [].
have {}outside : j \notin val S by [].
have -> : val S :\ i = val (swap_set i j S) :\ j.
  apply/setP => x; rewrite !inE; case: tpermP => [->|->|].
  - by rewrite eqxx (negbTE outside) andbF.
  - by rewrite eqxx (negbTE outside) andbF.
  by move=> /eqP/negbTE -> /eqP/negbTE ->.
by apply: records_at; rewrite inE tpermR.
Qed.

(** Below t = 1 by the datasets exchanged: they are neighbours, too. *)
Theorem without_replacement_below (M : mechanism R (seq X) T) (A B : U -> R) (d d' : 'I_n -> X) i t :
  has_pair one_replaced M A B -> (forall x, x != i -> d x = d' x) -> 0 < t -> t <= 1 ->
  hockey t (unordered M d) (unordered M d') <=
    1 - t + t * (m%:R / n%:R * hockey (1 + (t^-1 - 1) / (m%:R / n%:R)) A B).
Proof.
move=> pair elsewhere t0 t1; rewrite hockey_swap // ler_add2l ler_wpmul2l ?(ltW t0) //.
have back x : x != i -> d' x = d x by move=> other; rewrite elsewhere.
by apply: (without_replacement pair back); rewrite invf_ge1.
Qed.
End Unordered.

(** ** Mixtures: Lemma M, against a point, and Lemma T, beside a common part. *)

Section Mixtures.
Variables (R : realFieldType) (T : finType).

Lemma hockey_seen t (P Q phi : T -> R) : test phi -> seen P phi - t * seen Q phi <= hockey t P Q.
Proof.
move=> all; rewrite mulr_sumr -sumrB; apply: ler_sum => x _; rewrite mulrA -mulrBl.
have /andP [low high] := all x.
apply: (@le_trans _ _ (pos (P x - t * Q x) * phi x)); first by rewrite ler_wpmul2r ?pos_ge.
by rewrite -[X in _ <= X]mulr1 ler_wpmul2l ?pos_ge0.
Qed.

Lemma best_test t (P Q : T -> R) : exists2 phi, test phi & hockey t P Q = seen P phi - t * seen Q phi.
Proof.
exists (fun x => if 0 <= P x - t * Q x then 1 else 0) => [x|]; first by case: ifP; rewrite ?lexx ler01.
rewrite /seen mulr_sumr -sumrB; apply: eq_bigr => x _; rewrite mulrA -mulrBl.
by case: ifPn => sign; [rewrite mulr1 pos_id | rewrite mulr0 pos_0 // ltW // ltNge].
Qed.

Lemma hockey_mixture (I : finType) (w : law R I) (P Q : I -> law R T) t :
  hockey t (push P w) (push Q w) <= \sum_i w i * hockey t (P i) (Q i).
Proof.
apply: (@le_trans _ _ (\sum_x \sum_i pos (w i * (P i x - t * Q i x)))).
  apply: ler_sum => x _; apply: le_trans (pos_sum _ _ _); rewrite mulr_sumr -sumrB.
  by apply: pos_mono; apply: ler_sum => i _; rewrite mulrBr mulrCA.
rewrite exchange_big /=; apply: ler_sum => i _; rewrite mulr_sumr; apply: ler_sum => x _.
by rewrite pos_mul ?mass_ge0.
Qed.

Lemma seen_push (I : finType) (w : law R I) (P : I -> law R T) phi :
  seen (push P w) phi = \sum_i w i * seen (P i) phi.
Proof.
rewrite /seen (eq_bigr (fun x => \sum_i w i * (P i x * phi x))) => [|x _]; last first.
  by rewrite mulr_suml; apply: eq_bigr => i _; rewrite mulrA.
by rewrite exchange_big; apply: eq_bigr => i _; rewrite mulr_sumr.
Qed.
End Mixtures.

Section Lemmas.
Variables (R : realFieldType) (T S I : finType) (w : law R I).

(** Lemma M. One test of the pair matches a test of the laws, for all parts at once: half-lines do, of Gaussian
    laws whose means are at most so far apart. *)
Theorem mixture_to_point (P : I -> law R T) (Q : law R T) (A : I -> law R S) (B : law R S) :
  (forall phi, test phi -> exists2 psi, test psi & seen B psi = seen Q phi /\
    forall i, seen (P i) phi <= seen (A i) psi) ->
  dominated (push P w) Q (push A w) B.
Proof.
move=> matched t t0; have [phi all ->] := best_test t (push P w) Q.
have [psi every [same more]] := matched phi all.
apply: le_trans (hockey_seen t (push A w) B every); rewrite same ler_add2r !seen_push.
by apply: ler_sum => i _; rewrite ler_wpmul2l ?mass_ge0.
Qed.

Theorem point_to_mixture (P : I -> law R T) (Q : law R T) (A : I -> law R S) (B : law R S) :
  (forall phi, test phi -> exists2 psi, test psi & seen B psi = seen Q phi /\
    forall i, seen (A i) psi <= seen (P i) phi) ->
  dominated Q (push P w) B (push A w).
Proof.
move=> matched t t0; have [phi all ->] := best_test t Q (push P w).
have [psi every [same less]] := matched phi all.
apply: le_trans (hockey_seen t B (push A w) every); rewrite same ler_add2l ler_opp2 ler_wpmul2l //.
by rewrite !seen_push; apply: ler_sum => i _; rewrite ler_wpmul2l ?mass_ge0.
Qed.

(** Lemma T. Below t = 1 the other order counts: [hockey_swap]. *)
Theorem three_points (p : R) (p0 : 0 <= p) (p1 : p <= 1) (X X' Y : law R T) (A A' C : law R S) t :
  (forall phi, test phi -> exists2 psi, test psi & seen A psi = seen X phi /\
    seen A' psi <= seen X' phi /\ seen C psi <= seen Y phi) ->
  1 <= t -> hockey t (mix p0 p1 Y X) (mix p0 p1 Y X') <= hockey t (mix p0 p1 C A) (mix p0 p1 C A').
Proof.
move=> matched t1; have [phi all ->] := best_test t (mix p0 p1 Y X) (mix p0 p1 Y X').
have [psi every [same [less common]]] := matched phi all.
apply: le_trans (hockey_seen t (mix p0 p1 C A) (mix p0 p1 C A') every).
have split (U : finType) (F G : law R U) chi : seen (mix p0 p1 F G) chi = (1 - p) * seen F chi + p * seen G chi.
  rewrite /seen !mulr_sumr -big_split /=; apply: eq_bigr => x _ /=; ring.
rewrite !split same.
have shape (y x x' : R) : (1 - p) * y + p * x - t * ((1 - p) * y + p * x') =
    p * x - (t - 1) * (1 - p) * y - t * p * x' by ring.
rewrite !shape; apply: ler_sub; last by rewrite ler_wpmul2l // mulr_ge0 // (le_trans ler01 t1).
by rewrite ler_sub // ler_wpmul2l // mulr_ge0 ?subr_ge0.
Qed.
End Lemmas.
