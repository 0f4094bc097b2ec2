(** The rules of the kernel on finite spaces: mechanisms, composition, samples, conversions. *)
From mathcomp Require Import all_ssreflect all_fingroup all_algebra.
From mathcomp Require Import ring.
From DP Require Import Laws.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Rules.
Variable R : realFieldType.

(** A mechanism draws its output by a law that depends on the dataset. A relation has a direction:
    [N d d'] may say that d' is d without one record. *)
Definition mechanism (D : Type) (T : finType) := D -> law R T.
Definition relation (D : Type) := D -> D -> Prop.

Definition has_pair (D : Type) (T S : finType) (N : relation D) (M : mechanism D T) (A B : S -> R) :=
  forall d d', N d d' -> dominated (M d) (M d') A B.

Definition has_approx (D : Type) (T : finType) (N : relation D) (M : mechanism D T) (t delta : R) :=
  forall d d', N d d' -> approx t delta (M d) (M d').

(** ** convert/pair-approx *)

Theorem pair_to_approx (D : Type) (T S : finType) (N : relation D) (M : mechanism D T) (A B : S -> R) t delta :
  0 <= t -> has_pair N M A B -> hockey t A B <= delta -> has_approx N M t delta.
Proof.
move=> t0 pair most d d' neighbours; apply/approx_hockey.
by apply: le_trans (pair d d' neighbours t t0) most.
Qed.

(** ** post-process: a function of the output, or any kernel that does not see the data. *)

Theorem post_process_pair (D : Type) (T S U : finType) (N : relation D) (M : mechanism D T) (K : T -> law R S)
    (A B : U -> R) :
  has_pair N M A B -> has_pair N (fun d => push K (M d)) A B.
Proof. by move=> pair d d' neighbours; apply: dominated_trans (post_process K _ _) (pair d d' neighbours). Qed.

(** ** map-records: a function of the data that maps neighbours to neighbours. *)

Theorem map_dataset (D E : Type) (T S : finType) (N : relation D) (N' : relation E) (f : D -> E)
    (M : mechanism E T) (A B : S -> R) :
  (forall d d', N d d' -> N' (f d) (f d')) -> has_pair N' M A B -> has_pair N (M \o f) A B.
Proof. by move=> maps pair d d' neighbours; apply: pair; apply: maps. Qed.

(** ** compose/pair: each step is chosen by the outputs before it. *)

Section Adaptive.
Variables (D : Type) (T : finType).

Fixpoint outputs (n : nat) : finType := if n is m.+1 then [finType of T * outputs m] else [finType of unit].

Inductive program : nat -> Type :=
  | Stop : program 0
  | Run n (M : mechanism D T) (next : T -> program n) : program n.+1.

Lemma one_ge0 (x : unit) : 0 <= 1 :> R. Proof. exact: ler01. Qed.
Lemma one_sum : \sum_(x : unit) 1 = 1 :> R. Proof. by rewrite big_const card_unit /= addr0. Qed.
Definition nothing : law R [finType of unit] := Law one_ge0 one_sum.

Fixpoint run n (p : program n) (d : D) : law R (outputs n) :=
  match p in program m return law R (outputs m) with
  | Stop => nothing
  | Run m M next => joint_law (M d) (fun x => run (next x) d)
  end.

Fixpoint all_steps n (good : mechanism D T -> Prop) (p : program n) : Prop :=
  if p is Run _ M next then good M /\ forall x, all_steps good (next x) else True.

End Adaptive.

Fixpoint power_law (S : finType) (A : law R S) (n : nat) : law R (outputs S n) :=
  match n return law R (outputs S n) with
  | 0 => nothing
  | m.+1 => product_law A (power_law A m)
  end.

Theorem compose_pairs (D : Type) (T S : finType) (N : relation D) (A B : law R S) n (p : program D T n) :
  all_steps (fun M => has_pair N M A B) p ->
  has_pair N (run p) (power_law A n) (power_law B n).
Proof.
elim: p => [|m M next IH] /= => [_ d d' _ t _ //|[first later] d d' neighbours].
by apply: compose_dominated => [u|u|u||x]; rewrite ?mass_ge0 //; [apply: first | apply: IH].
Qed.

(** Two steps with pairs of their own. *)
Theorem compose_two (D : Type) (T T' S S' : finType) (N : relation D) (M : mechanism D T)
    (M' : T -> mechanism D T') (A B : law R S) (A' B' : law R S') :
  has_pair N M A B -> (forall x, has_pair N (M' x) A' B') ->
  has_pair N (fun d => joint_law (M d) (fun x => M' x d)) (product_law A A') (product_law B B').
Proof.
move=> first second d d' neighbours.
by apply: compose_dominated => [u|u|u||x]; rewrite ?mass_ge0 //; [apply: first | apply: second].
Qed.

(** ** dominate/approx-dp and dominate/pure-dp: randomised response, beside an outcome that tells. *)

Lemma hockey_convex (T : finType) (P Q : T -> R) a s b :
  a <= s -> s <= b -> (b - a) * hockey s P Q <= (b - s) * hockey a P Q + (s - a) * hockey b P Q.
Proof.
move=> a_s s_b; rewrite /hockey !mulr_sumr -big_split /=; apply: ler_sum => x _.
rewrite -!pos_mul ?subr_ge0 //; last exact: le_trans a_s s_b.
apply: le_trans (pos_add _ _); rewrite le_eqVlt; apply/orP; left; apply/eqP; congr pos; ring.
Qed.

Lemma hockey_swap (T : finType) (P Q : law R T) t :
  0 < t -> hockey t P Q = 1 - t + t * hockey t^-1 Q P.
Proof.
move=> t0; have -> : 1 - t = \sum_x (P x - t * Q x) by rewrite sumrB -mulr_sumr !mass_sum mulr1.
rewrite /hockey mulr_sumr -big_split /=; apply: eq_bigr => x _.
rewrite -pos_mul ?ltW // mulrBr mulrA mulfV ?gt_eqF // mul1r.
by rewrite -[t * Q x - P x]opprB -{2}(pos_sub (P x - t * Q x)) subrK.
Qed.

Lemma hockey_antitone (T : finType) (P Q : T -> R) s t :
  (forall x, 0 <= Q x) -> s <= t -> hockey t P Q <= hockey s P Q.
Proof.
move=> Q0 s_t; apply: ler_sum => x _; apply: pos_mono.
by rewrite ler_sub // ler_wpmul2r.
Qed.

Lemma hockey_le1 (T : finType) (P Q : law R T) t : 0 <= t -> hockey t P Q <= 1.
Proof.
move=> t0; rewrite -(mass_sum P); apply: ler_sum => x _; apply: pos_le (mass_ge0 _ _).
by rewrite ler_subl_addr ler_addl mulr_ge0 ?mass_ge0.
Qed.

Section Told.
Variables t delta : R.
Hypotheses (t1 : 1 <= t) (delta0 : 0 <= delta) (delta1 : delta <= 1).

Let t0 : 0 < t := lt_le_trans ltr01 t1.
Let plus0 : 0 < 1 + t := addr_gt0 ltr01 t0.

(** The first component tells whether the second one is the truth for certain. *)
Definition told (truth : bool) (z : bool * bool) : R :=
  if z.1 then (if z.2 == truth then delta else 0)
  else (1 - delta) * (if z.2 == truth then t else 1) / (1 + t).

Lemma told_ge0 truth z : 0 <= told truth z.
Proof.
rewrite /told; case: z.1; first by case: ifP.
apply: divr_ge0 (ltW plus0); apply: mulr_ge0; rewrite ?subr_ge0 //.
by case: ifP => _; rewrite ?ler01 ?ltW.
Qed.

Lemma sum_bool2 (F : bool * bool -> R) :
  \sum_z F z = F (true, true) + F (true, false) + (F (false, true) + F (false, false)).
Proof.
rewrite (eq_bigr (fun z => F (z.1, z.2))) => [|[] //].
by rewrite -(pair_bigA _ (fun x y => F (x, y))) /= !big_bool.
Qed.


Lemma told_sum truth : \sum_z told truth z = 1.
Proof.
rewrite sum_bool2 /told /=; case: truth => /=.
  by rewrite addr0 -mulrDl -mulrDr [t + 1]addrC mulfK ?gt_eqF // addrC subrK.
by rewrite add0r -mulrDl -mulrDr mulfK ?gt_eqF // addrC subrK.
Qed.

Definition told_law truth : law R [finType of bool * bool] := Law (told_ge0 truth) (told_sum truth).

(** Its divergence: delta past e^epsilon, a line between e^-epsilon and e^epsilon. *)
Lemma told_hockey s : 0 <= s ->
  hockey s (told true) (told false) = delta + (1 - delta) / (1 + t) * (pos (t - s) + pos (1 - s * t)).
Proof.
move=> s0; rewrite /hockey sum_bool2 /told /= mulr0 subr0 pos_id // sub0r [pos (- _)]pos_0 ?oppr_le0 ?mulr_ge0 //.
have share0 : 0 <= (1 - delta) / (1 + t) by rewrite divr_ge0 ?subr_ge0 // ltW.
by rewrite addr0 mulrDr -!pos_mul //; congr (_ + (pos _ + pos _)); ring.
Qed.

Lemma told_far s : t <= s -> hockey s (told true) (told false) = delta.
Proof.
move=> far; have s1 : 1 <= s by apply: le_trans t1 far.
rewrite told_hockey; last by apply: le_trans s1; apply: ler01.
rewrite [pos (t - s)]pos_0 ?subr_le0 // pos_0 ?addr0 ?mulr0 ?addr0 // subr_le0.
by rewrite -[1]mulr1 ler_pmul ?ler01.
Qed.

Lemma told_line s : t^-1 <= s -> s <= t ->
  hockey s (told true) (told false) = delta + (1 - delta) / (1 + t) * (t - s).
Proof.
move=> low high; have s0 : 0 <= s by apply: le_trans low; rewrite invr_ge0 ltW.
rewrite told_hockey // [pos (t - s)]pos_id ?subr_ge0 // pos_0 ?addr0 // subr_le0.
by rewrite -ler_pdivr_mulr // mul1r.
Qed.

Lemma told_near s : 0 <= s -> s <= t^-1 ->
  hockey s (told true) (told false) = 1 - s * (1 - delta).
Proof.
move=> s0 near; have st : s * t <= 1 by rewrite -ler_pdivl_mulr // mul1r.
have s1 : s <= t by apply: le_trans near _; apply: le_trans t1; rewrite invf_le1.
rewrite told_hockey // !pos_id ?subr_ge0 //.
have -> : t - s + (1 - s * t) = (1 + t) * (1 - s) by ring.
by rewrite mulrA divfK ?gt_eqF //; ring.
Qed.

Theorem dominate_approx (T : finType) (P Q : law R T) :
  hockey t P Q <= delta -> hockey t Q P <= delta -> dominated P Q (told true) (told false).
Proof.
move=> there back s s0.
have Q0 x : 0 <= Q x := mass_ge0 Q x.
have at_inverse : hockey t^-1 P Q <= 1 - t^-1 * (1 - delta).
  have -> : 1 - t^-1 * (1 - delta) = 1 - t^-1 + t^-1 * delta by ring.
  by rewrite hockey_swap ?invr_gt0 // invrK ler_add2l ler_wpmul2l // invr_ge0 ltW.
have at_0 : hockey 0 P Q <= 1 by apply: hockey_le1.
case: (lerP t s) => [far|/ltW high].
  by rewrite told_far //; apply: le_trans (hockey_antitone _ Q0 far) there.
case: (lerP s t^-1) => [near|/ltW low].
  rewrite told_near //; have i0 : 0 < t^-1 by rewrite invr_gt0.
  have := hockey_convex P Q s0 near; rewrite !subr0 => chord.
  rewrite -(ler_pmul2l i0); apply: le_trans chord _.
  apply: (@le_trans _ _ ((t^-1 - s) * 1 + s * (1 - t^-1 * (1 - delta)))).
    by apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
rewrite told_line //.
case: (eqVneq t 1) => [one|more].
  have -> : s = t by apply/eqP; rewrite eq_le high one -[X in X <= _]invr1 -one low.
  by rewrite subrr mulr0 addr0.
have wide : 0 < t - t^-1.
  rewrite subr_gt0; apply: (@le_lt_trans _ _ 1); first by rewrite invf_le1.
  by rewrite lt_neqAle eq_sym more t1.
rewrite -(ler_pmul2l wide); apply: le_trans (hockey_convex P Q low high) _.
apply: (@le_trans _ _ ((t - s) * (1 - t^-1 * (1 - delta)) + (s - t^-1) * delta)).
  by apply: ler_add; apply: ler_wpmul2l; rewrite ?subr_ge0.
rewrite le_eqVlt; apply/orP; left; apply/eqP.
have inv : t^-1 * t = 1 by rewrite mulVf ?gt_eqF.
have plus : (1 + t)^-1 * (1 + t) = 1 by rewrite mulVf ?gt_eqF.
have split : t - t^-1 = t^-1 * (t - 1) * (1 + t).
  have -> : t^-1 * (t - 1) * (1 + t) = (t^-1 * t) * t - t^-1 by ring.
  by rewrite inv mul1r.
have share : (t - t^-1) * ((1 - delta) / (1 + t)) = t^-1 * (t - 1) * (1 - delta).
  rewrite split.
  have -> : t^-1 * (t - 1) * (1 + t) * ((1 - delta) / (1 + t)) =
            t^-1 * (t - 1) * (1 - delta) * ((1 + t)^-1 * (1 + t)) by ring.
  by rewrite plus mulr1.
rewrite [RHS]mulrDr [X in _ = _ + X]mulrA share.
have -> : t^-1 * (t - 1) * (1 - delta) * (t - s) = (1 - delta) * (t - s) * (t^-1 * t - t^-1) by ring.
by rewrite inv; ring.
Qed.
End Told.

(** Pure privacy: no output is t times as likely as under the neighbour. *)
Definition pure (T : finType) (t : R) (P Q : T -> R) : Prop := forall x, P x <= t * Q x.

Lemma pure_hockey (T : finType) t (P Q : T -> R) : pure t P Q -> hockey t P Q = 0.
Proof. by move=> most; apply: big1 => x _; rewrite pos_0 // subr_le0. Qed.

(** The pair of binary randomised response: the truth is said with probability t / (1 + t). *)
Definition response (t : R) (truth answer : bool) : R := (if answer == truth then t else 1) / (1 + t).

Lemma response_told t s : hockey s (response t true) (response t false) = hockey s (told t 0 true) (told t 0 false).
Proof.
rewrite /hockey sum_bool2 big_bool /told /response /= subr0 !mul1r !mulr0 !subr0 /pos maxxx.
by rewrite !add0r.
Qed.

Theorem dominate_pure (T : finType) (P Q : law R T) t :
  1 <= t -> pure t P Q -> pure t Q P -> dominated P Q (response t true) (response t false).
Proof.
move=> t1 there back s s0; rewrite response_told.
by apply: dominate_approx; rewrite ?ler01 ?lexx // pure_hockey.
Qed.

(** ** mechanism/randomized-response: k categories, the true one t times as likely as each other. *)

Lemma hockey_law_ge (T : finType) (P Q : law R T) s : pos (1 - s) <= hockey s P Q.
Proof.
have -> : 1 - s = \sum_x (P x - s * Q x) by rewrite sumrB -mulr_sumr !mass_sum mulr1.
exact: pos_sum.
Qed.

Section Response.
Variables (k : finType) (t : R).
Hypothesis t1 : 1 <= t.

Let weight : R := t + #|k|.-1%:R.

Definition chance (truth x : k) : R := (if x == truth then t else 1) / weight.

Lemma weight_gt0 : 0 < weight.
Proof. exact: ltr_paddr (ler0n _ _) (lt_le_trans ltr01 t1). Qed.

Lemma chance_ge0 truth x : 0 <= chance truth x.
Proof. by apply: divr_ge0 (ltW weight_gt0); case: ifP => _; rewrite ?ler01 // (le_trans ler01 t1). Qed.

Lemma chance_sum truth : \sum_x chance truth x = 1.
Proof.
rewrite -mulr_suml (bigD1 truth) //= eqxx (eq_bigr (fun=> 1)) => [|x]; last by case: eqP.
by rewrite sumr_const cardC1 divff // gt_eqF // weight_gt0.
Qed.

Definition category (truth : k) : law R k := Law (chance_ge0 truth) (chance_sum truth).

(** Any two different categories have the pair of two given ones: permute the categories. *)
Theorem randomized_response_pair (D : Type) (value : D -> k) (N : relation D) (i j : k) :
  i != j -> has_pair N (fun d => category (value d)) (category i) (category j).
Proof.
move=> ij d d' _ s s0; set v := value d; set v' := value d'.
case: (eqVneq v v') => [<-|different].
  apply: le_trans (hockey_law_ge _ _ _); rewrite /hockey.
  rewrite (eq_bigr (fun x => category v x * pos (1 - s))) => [|x _].
    by rewrite -mulr_suml mass_sum mul1r.
  by rewrite -pos_mul ?mass_ge0 // mulrBr mulr1 [_ * s]mulrC.
pose turn x := tperm (tperm v i v') j (tperm v i x).
have turn_inj : injective turn by move=> x y /perm_inj /perm_inj.
have turn_v : turn v = i.
  rewrite /turn tpermL tpermD // 1?eq_sym //.
  by apply: contra different => same; rewrite -(inj_eq (@perm_inj _ (tperm v i))) tpermL.
have turn_v' : turn v' = j by rewrite /turn tpermL.
rewrite /hockey [X in _ <= X](reindex_inj turn_inj) /= le_eqVlt; apply/orP; left; apply/eqP.
apply: eq_bigr => x _; rewrite /chance.
by rewrite -{1}turn_v -{1}turn_v' !(inj_eq turn_inj).
Qed.
End Response.

(** ** convert/approx-true-positive-rate and convert/approx-advantage *)

Section Attacks.
Variables (T : finType) (P Q : law R T) (t delta : R).
Hypotheses (t1 : 1 <= t) (there : approx t delta P Q) (back : approx t delta Q P).

Lemma event_rest (L : law R T) (E : pred T) : \sum_(x | ~~ E x) L x = 1 - \sum_(x | E x) L x.
Proof. by have := mass_sum L; rewrite (bigID E) /= => <-; rewrite [RHS]addrC addKr. Qed.

Theorem true_positive_by_event (E : pred T) a :
  \sum_(x | E x) Q x <= a -> \sum_(x | E x) P x <= t * a + delta.
Proof.
move=> most; apply: le_trans (there E) _; rewrite ler_add2r ler_wpmul2l //.
by apply: le_trans t1; apply: ler01.
Qed.

Theorem true_positive_by_rest (E : pred T) a :
  \sum_(x | E x) Q x <= a -> \sum_(x | E x) P x <= 1 - (1 - a - delta) / t.
Proof.
move=> most; have t0 : 0 < t by apply: lt_le_trans t1; apply: ltr01.
have := back (fun x => ~~ E x); rewrite !event_rest => other.
rewrite ler_subr_addr -ler_subr_addl ler_pdivr_mulr // mulrC ler_subl_addr.
by apply: le_trans other; rewrite ler_sub.
Qed.

(** tanh(epsilon/2) = (t - 1) / (t + 1). *)
Theorem advantage_bound (E : pred T) :
  \sum_(x | E x) P x - \sum_(x | E x) Q x <= delta + (1 - delta) * (t - 1) / (t + 1).
Proof.
have plus0 : 0 < t + 1 by apply: addr_gt0 (lt_le_trans ltr01 t1) ltr01.
have := back (fun x => ~~ E x); rewrite !event_rest => other; have := there E => direct.
set p := \sum_(x | E x) P x in direct other *; set q := \sum_(x | E x) Q x in direct other *.
rewrite -(ler_pmul2r plus0) [X in _ <= X]mulrDl divfK ?gt_eqF //.
have -> : delta * (t + 1) + (1 - delta) * (t - 1) = t - 1 + 2%:R * delta by ring.
have := ler_add direct other; rewrite -subr_ge0 => sum.
by rewrite -subr_ge0; congr (0 <= _): sum; ring.
Qed.
End Attacks.

(** ** hockey-stick/bounded: past the largest finite loss only the infinite one counts. *)

Theorem bounded_loss (T : finType) (P Q : T -> R) t :
  (forall x, 0 <= P x) -> (forall x, Q x = 0 \/ P x <= t * Q x) ->
  hockey t P Q <= \sum_(x | Q x == 0) P x.
Proof.
move=> P0 most; rewrite [X in _ <= X]big_mkcond /=; apply: ler_sum => x _.
case: ifPn => [/eqP -> |infinite]; first by rewrite mulr0 subr0 pos_id.
by case: (most x) infinite => [->|small _]; rewrite ?eqxx // pos_0 // subr_le0.
Qed.

End Rules.
