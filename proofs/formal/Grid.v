(** Pairs on a grid of losses, composed and decided by computation.

    The losses are multiples of ln g, g = a/b. Masses are integers over one denominator. The product of
    two such pairs is a convolution of integers, so that a bound of (epsilon, delta) for any adaptive
    sequence of private steps is a computation on binary numbers. *)
From Coq Require Import NArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring zify.
From DP Require Import Laws Rules.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Computation: lists of binary numbers *)

Fixpoint add (p q : seq N) : seq N :=
  match p, q with
  | [::], _ => q
  | _, [::] => p
  | x :: p', y :: q' => N.add x y :: add p' q'
  end.

Definition scale (c : N) (p : seq N) : seq N := [seq N.mul c x | x <- p].

Fixpoint convolve (p q : seq N) : seq N :=
  match p with
  | [::] => [::]
  | N0 :: p' => 0%num :: convolve p' q
  | x :: p' => add (scale x q) (0%num :: convolve p' q)
  end.

Fixpoint total (p : seq N) : N := if p is x :: p' then N.add x (total p') else 0%num.

(** The sum of x_j w (b/a)^(j+1), where every factor is rounded down. *)
Fixpoint discounted (a b w : N) (p : seq N) : N :=
  if p is x :: p' then let next := N.div (N.mul w b) a in N.add (N.mul x next) (discounted a b next p') else 0%num.

(** A pair: the mass of the infinite loss, the masses of the losses from [-lowest] on, their denominator. *)
Record grid := Grid { infinite : N; masses : seq N; denominator : N; lowest : nat }.

(** The denominator of rounded masses. *)
Definition unit_of (places : nat) : N := N.pow 2 (N.of_nat places).

Definition neutral (places : nat) : grid := Grid 0 [:: unit_of places] (unit_of places) 0.

Definition compose (x y : grid) : grid :=
  Grid (N.add (N.mul (infinite x) (N.add (infinite y) (total (masses y)))) (N.mul (total (masses x)) (infinite y)))
       (convolve (masses x) (masses y))
       (N.mul (denominator x) (denominator y))
       (lowest x + lowest y).

Definition change_masses (up : N -> N) (unit : N) (x : grid) : grid :=
  Grid (up (infinite x)) [seq up m | m <- masses x] unit (lowest x).

(** Round masses up to [places] binary digits: the pair only gets worse. *)
Definition round_up (places : nat) (x : grid) : grid :=
  let unit := unit_of places in
  change_masses (fun m => N.div (N.sub (N.add (N.mul m unit) (denominator x)) 1) (denominator x)) unit x.

(** The same for a product of two rounded ones: a shift of digits. *)
Definition shift_up (places : nat) (x : grid) : grid :=
  let unit := unit_of places in
  change_masses (fun m => N.shiftr (N.add m (N.sub unit 1)) (N.of_nat places)) unit x.

(** Randomised response of odds (a/b)^k, beside an outcome of mass u/v that tells. *)
Definition told_grid (a b : N) (k : nat) (u v : N) : grid :=
  let: (high, low) := (N.pow a (N.of_nat k), N.pow b (N.of_nat k)) in
  let rest := N.sub v u in
  Grid (N.mul u (N.add high low))
       (N.mul rest low :: nseq (k.*2.-1) 0%num ++ [:: N.mul rest high])
       (N.mul v (N.add high low)) k.

(** Is the divergence at (a/b)^m at most u/v? *)
Definition at_most (places : nat) (a b : N) (x : grid) (m : nat) (u v : N) : bool :=
  let tail := drop (lowest x + m).+1 (masses x) in
  let unit := unit_of places in
  N.leb (N.mul (N.mul (N.add (infinite x) (total tail)) unit) v)
        (N.add (N.mul (N.mul u (denominator x)) unit) (N.mul (discounted a b unit tail) v)).

(** A step of a run: odds of at most (a/b)^multiple, and delta of at most mass/over. *)
Record step := Step { multiple : nat; mass : N; over : N }.

Definition step_ok (s : step) : bool := (0 < multiple s)%N && N.leb (mass s) (over s) && N.ltb 0 (over s).

Fixpoint grid_of (places : nat) (a b : N) (steps : seq step) : grid :=
  if steps is s :: rest
  then shift_up places (compose (round_up places (told_grid a b (multiple s) (mass s) (over s))) (grid_of places a b rest))
  else neutral places.

(** The whole decision: does a run of these steps have odds (a/b)^m but for u/v? *)
Definition decide (places : nat) (a b : N) (steps : seq step) (m : nat) (u v : N) : bool :=
  N.ltb 0 b && N.leb b a && N.ltb 0 v && all step_ok steps && at_most places a b (grid_of places a b steps) m u v.

Section Meaning.
Variable R : realFieldType.

Definition num (n : N) : R := (N.to_nat n)%:R.

(** Stated once, so that [ring] knows the inverse. *)
Lemma inverse (v w : R) : (v * w)^-1 = v^-1 * w^-1. Proof. by rewrite invfM. Qed.

Lemma num_ge0 n : 0 <= num n. Proof. exact: ler0n. Qed.
Lemma num_add m n : num (N.add m n) = num m + num n. Proof. by rewrite /num N2Nat.inj_add natrD. Qed.
Lemma num_mul m n : num (N.mul m n) = num m * num n. Proof. by rewrite /num N2Nat.inj_mul natrM. Qed.
Lemma num_pow m k : num (N.pow m (N.of_nat k)) = num m ^+ k.
Proof.
elim: k => [|k IH]; first by rewrite expr0.
by rewrite Nat2N.inj_succ N.pow_succ_r ?num_mul ?IH ?exprS //; apply: N.le_0_l.
Qed.
Lemma num_le m n : N.leb m n -> num m <= num n.
Proof. by move=> /N.leb_le le; rewrite ler_nat; lia. Qed.
Lemma num_gt0 n : N.ltb 0 n -> 0 < num n.
Proof. by move=> /N.ltb_lt lt; rewrite ltr0n; lia. Qed.
Lemma num_sub m n : N.leb n m -> num (N.sub m n) = num m - num n.
Proof. by move=> /N.leb_le le; rewrite -{2}(N.sub_add n m) // num_add addrK. Qed.

(** The sum of p_i c_i. *)
Fixpoint value (p : seq N) (c : nat -> R) : R :=
  if p is x :: p' then num x * c 0%N + value p' (fun i => c i.+1) else 0.

Lemma value_eq p c d : (forall i, c i = d i) -> value p c = value p d.
Proof. by elim: p c d => [|x p IH] c d //= same; rewrite same (IH _ (fun i => d i.+1)). Qed.

Lemma value_add p q c : value (add p q) c = value p c + value q c.
Proof.
elim: p q c => [|x p IH] [|y q] c /=; rewrite ?add0r ?addr0 // num_add IH.
by ring.
Qed.

Lemma value_scale x p c : value (scale x p) c = num x * value p c.
Proof. by elim: p c => [|y p IH] c /=; rewrite ?mulr0 // IH num_mul; ring. Qed.

Lemma value_convolve p q c : value (convolve p q) c = value p (fun i => value q (fun j => c (i + j)%N)).
Proof.
elim: p c => [|[|x] p IH] c //=; first by rewrite IH !mul0r.
by rewrite value_add value_scale /= mul0r add0r IH.
Qed.

Lemma value_affine p (e c : R) V :
  value p (fun i => (c + V i) * e) = (c * value p (fun=> 1) + value p V) * e.
Proof. by elim: p V => [|x p IH] V /=; rewrite ?mulr0 ?addr0 ?mul0r // (IH (fun i => V i.+1)); ring. Qed.

Lemma value_total p : num (total p) = value p (fun=> 1).
Proof. by elim: p => [|x p IH] //=; rewrite num_add IH mulr1. Qed.

Lemma value_sum p c : value p c = \sum_(i < size p) num (nth 0%num p i) * c i.
Proof.
elim: p c => [|x p IH] c /=; first by rewrite big_ord0.
by rewrite big_ord_recl IH.
Qed.


(** ** The pair of a grid *)

Section Pair.
Variables a b : N.
Hypotheses (b0 : N.ltb 0 b) (b_a : N.leb b a).

(** e to the minus one step of the grid. *)
Let r : R := num b / num a.
Let b_gt0 : 0 < num b := num_gt0 b0.
Let a_gt0 : 0 < num a := lt_le_trans b_gt0 (num_le b_a).
Let r_gt0 : 0 < r := divr_gt0 b_gt0 a_gt0.

Lemma power_gt0 k : 0 < r ^+ k. Proof. exact: exprn_gt0. Qed.

Definition loss_at (x : grid) (t : R) (i : nat) : R := pos (1 - t * (r ^+ i / r ^+ lowest x)).

Definition divergence (x : grid) (t : R) : R :=
  (num (infinite x) + value (masses x) (loss_at x t)) / num (denominator x).

Definition well (x : grid) : Prop := 0 < num (denominator x).

Definition place (x : grid) : finType := [finType of unit + 'I_(size (masses x))].

Definition likely (x : grid) (z : place x) : R :=
  match z with inl _ => num (infinite x) | inr i => num (nth 0%num (masses x) i) end / num (denominator x).

Definition unlikely (x : grid) (z : place x) : R :=
  match z with inl _ => 0 | inr i => likely (inr i : place x) * (r ^+ i / r ^+ lowest x) end.

Lemma likely_ge0 x (z : place x) : 0 <= likely z.
Proof. by case: z => [[]|i]; rewrite divr_ge0 ?num_ge0. Qed.

Lemma unlikely_ge0 x (z : place x) : 0 <= unlikely z.
Proof. by case: z => [[]|i] //=; rewrite mulr_ge0 ?likely_ge0 // divr_ge0 // ltW // power_gt0. Qed.

Lemma divergence_hockey x t : divergence x t = hockey t (@likely x) (@unlikely x).
Proof.
rewrite /divergence /hockey big_sumType /= (big_pred1 tt) => [|[]//].
rewrite mulr0 subr0 pos_id ?divr_ge0 ?num_ge0 // mulrDl value_sum mulr_suml; congr (_ + _).
apply: eq_bigr => i _; rewrite /loss_at mulrAC -pos_mul ?divr_ge0 ?num_ge0 //.
by rewrite /likely; congr pos; ring.
Qed.

Lemma compose_divergence x y t : 0 <= t ->
  hockey t (product (@likely x) (@likely y)) (product (@unlikely x) (@unlikely y)) = divergence (compose x y) t.
Proof.
move=> t0.
have row z : \sum_w pos (product (@likely x) (@likely y) (z, w) - t * product (@unlikely x) (@unlikely y) (z, w)) =
  match z with
  | inl _ => num (infinite x) * (num (infinite y) + value (masses y) (fun=> 1)) / num (denominator (compose x y))
  | inr i => num (nth 0%num (masses x) i) * (num (infinite y)
               + value (masses y) (fun j => loss_at (compose x y) t (i + j))) / num (denominator (compose x y))
  end.
  rewrite big_sumType /= (big_pred1 tt) => [|[]//]; rewrite /product /=.
  case: z => [[]|i] /=.
    rewrite !mul0r mulr0 subr0 pos_id ?mulr_ge0 ?invr_ge0 ?num_ge0 //.
    rewrite (eq_bigr (fun j : 'I__ => num (infinite x) / num (denominator x) / num (denominator y)
                               * (num (nth 0%num (masses y) j) * 1))) => [|j _]; last first.
      rewrite !mul0r mulr0 subr0 pos_id ?mulr_ge0 ?invr_ge0 ?num_ge0 //; rewrite /likely; by ring.
    rewrite /likely -mulr_sumr -(value_sum (masses y) (fun=> 1)) num_mul inverse.
    by move: (value _ _) => sum; ring.
  rewrite !mulr0 subr0 pos_id ?mulr_ge0 ?invr_ge0 ?num_ge0 //.
  rewrite (eq_bigr (fun j : 'I__ => num (nth 0%num (masses x) i) / num (denominator x) / num (denominator y)
     * (num (nth 0%num (masses y) j) * loss_at (compose x y) t (i + j)))) => [|j _]; last first.
    rewrite /likely /loss_at /= [RHS]mulrA -pos_mul ?mulr_ge0 ?invr_ge0 ?num_ge0 //; congr pos.
    by rewrite !exprD inverse; ring.
  rewrite /likely -mulr_sumr -(value_sum (masses y) (fun j => loss_at (compose x y) t (i + j))) num_mul inverse.
  by move: (value _ _) => sum; ring.
rewrite /hockey -(pair_bigA _ (fun z w => pos (product (@likely x) (@likely y) (z, w)
                                     - t * product (@unlikely x) (@unlikely y) (z, w)))) /=.
rewrite (eq_bigr _ (fun z _ => row z)) big_sumType /= (big_pred1 tt) => [|[]//].
rewrite (eq_bigr (fun i : 'I__ => num (nth 0%num (masses x) i) * ((num (infinite y)
     + value (masses y) (fun j => loss_at (compose x y) t (i + j))) / num (denominator (compose x y))))) => [|i _].
  rewrite -(value_sum (masses x) (fun i => (num (infinite y)
     + value (masses y) (fun j => loss_at (compose x y) t (i + j))) / num (denominator (compose x y)))).
  rewrite value_affine /divergence /= num_add !num_mul num_add !value_total value_convolve inverse.
  by move: (value (masses x) _) (value (masses x) _) (value (masses y) _) => sum all other; ring.
by rewrite mulrA.
Qed.

Lemma compose_well x y : well x -> well y -> well (compose x y).
Proof. by move=> x_gt0 y_gt0; rewrite /well /= num_mul mulr_gt0. Qed.

Lemma unit_gt0 places : 0 < num (unit_of places).
Proof. by rewrite num_pow exprn_gt0 // (@num_gt0 2). Qed.

Lemma change_divergence up unit x t :
  (forall m, num m / num (denominator x) <= num (up m) / num unit) ->
  divergence x t <= divergence (change_masses up unit x) t.
Proof.
move=> more; rewrite /divergence mulrDl [X in _ <= X]mulrDl; apply: ler_add; first exact: more.
have -> : loss_at (change_masses up unit x) t = loss_at x t by [].
move: (loss_at x t) (fun i => pos_ge0 (1 - t * (r ^+ i / r ^+ lowest x)) : 0 <= loss_at x t i) => c c0.
rewrite /=; elim: (masses x) c c0 => [|m p IH] c c0 /=; first by rewrite !mul0r.
rewrite mulrDl [X in _ <= X]mulrDl; apply: ler_add; last by apply: IH => i; apply: c0.
by rewrite mulrAC [X in _ <= X]mulrAC ler_wpmul2r.
Qed.

Lemma round_divergence places x t : well x -> divergence x t <= divergence (round_up places x) t.
Proof.
move=> d0; apply: change_divergence => m; have unit0 := unit_gt0 places.
move: d0 unit0; rewrite /well; move: (denominator x) (unit_of places) => d unit d0 unit0.
rewrite ler_pdivr_mulr // mulrAC ler_pdivl_mulr // -!num_mul; apply: num_le; apply/N.leb_le.
have : (0 < N.to_nat d)%N by move: d0; rewrite /num ltr0n.
have := N.div_mod (N.sub (N.add (N.mul m unit) d) 1) d.
have := N.mod_lt (N.sub (N.add (N.mul m unit) d) 1) d.
by nia.
Qed.

Lemma shift_divergence places x t : denominator x = N.mul (unit_of places) (unit_of places) ->
  divergence x t <= divergence (shift_up places x) t.
Proof.
move=> square; apply: change_divergence => m; rewrite square num_mul N.shiftr_div_pow2 -/(unit_of places).
have := unit_gt0 places; move: (unit_of places) => unit unit0.
rewrite inverse mulrA ler_wpmul2r ?invr_ge0 ?num_ge0 // ler_pdivr_mulr // -num_mul; apply: num_le; apply/N.leb_le.
have : (0 < N.to_nat unit)%N by move: unit0; rewrite /num ltr0n.
have := N.div_mod (N.add m (N.sub unit 1)) unit.
have := N.mod_lt (N.add m (N.sub unit 1)) unit.
by nia.
Qed.

Theorem compose_grid (T S : finType) (P Q : law R T) (P' Q' : T -> law R S) (x y : grid) :
  (forall t, 0 <= t -> hockey t P Q <= divergence x t) ->
  (forall z t, 0 <= t -> hockey t (P' z) (Q' z) <= divergence y t) ->
  forall t, 0 <= t -> hockey t (joint P P') (joint Q Q') <= divergence (compose x y) t.
Proof.
move=> first second t t0; rewrite -compose_divergence //.
apply: compose_dominated => // [u|v|v|s s0|z s s0].
- exact: unlikely_ge0.
- exact: likely_ge0.
- exact: unlikely_ge0.
- by rewrite -divergence_hockey first.
- by rewrite -divergence_hockey second.
Qed.

(** ** One private step: randomised response, beside an outcome that tells. *)

Lemma value_zeros k p c : value (nseq k 0%num ++ p) c = value p (fun i => c (k + i)%N).
Proof. by elim: k c => [|k IH] c //=; rewrite mul0r add0r IH. Qed.

Let g (k : nat) : R := (num a / num b) ^+ k.

Lemma g_ge1 k : 1 <= g k.
Proof. by apply: exprn_ege1; rewrite ler_pdivl_mulr // mul1r num_le. Qed.

Lemma g_r k : r ^+ k * g k = 1.
Proof.
rewrite -exprMn; have -> : r * (num a / num b) = 1; last exact: expr1n.
have one : num a * (num a)^-1 = 1 by rewrite mulfV ?gt_eqF.
have two : num b * (num b)^-1 = 1 by rewrite mulfV ?gt_eqF.
have -> : r * (num a / num b) = (num a * (num a)^-1) * (num b * (num b)^-1) by rewrite /r; ring.
by rewrite one two mulr1.
Qed.

Lemma g_low k : num b ^+ k * g k = num a ^+ k.
Proof.
rewrite -exprMn; congr (_ ^+ _).
have two : num b * (num b)^-1 = 1 by rewrite mulfV ?gt_eqF.
have -> : num b * (num a / num b) = num a * (num b * (num b)^-1) by ring.
by rewrite two mulr1.
Qed.

Section Told.
Variables (k : nat) (u v : N).
Hypotheses (k0 : (0 < k)%N) (u_v : N.leb u v) (v0 : N.ltb 0 v).

Let delta : R := num u / num v.

Lemma delta_ge0 : 0 <= delta. Proof. by rewrite divr_ge0 ?num_ge0. Qed.
Lemma delta_le1 : delta <= 1. Proof. by rewrite ler_pdivr_mulr ?num_gt0 // mul1r num_le. Qed.

Lemma told_well : well (told_grid a b k u v).
Proof.
have high0 : 0 < num a ^+ k by rewrite exprn_gt0.
have low0 : 0 < num b ^+ k by rewrite exprn_gt0.
by rewrite /well /= num_mul num_add !num_pow mulr_gt0 ?num_gt0 // addr_gt0.
Qed.

Lemma told_divergence s : 0 <= s -> divergence (told_grid a b k u v) s = hockey s (told (g k) delta true) (told (g k) delta false).
Proof.
move=> s0; rewrite told_hockey ?g_ge1 ?delta_ge0 ?delta_le1 //.
rewrite /divergence /= value_zeros /= !num_mul !num_add !num_pow num_sub // addr0 /loss_at /=.
have -> : (k.*2.-1 + 0).+1 = (k + k)%N by lia.
have r_k : (r ^+ k)^-1 = g k by rewrite -[RHS]mul1r -[1](@mulVf _ (r ^+ k)) ?gt_eqF ?exprn_gt0 // -mulrA g_r mulr1.
rewrite r_k expr0 mul1r; have -> : r ^+ (k + k) * g k = r ^+ k by rewrite exprD -mulrA g_r mulr1.
have -> : (num v - num u) * num a ^+ k * pos (1 - s * r ^+ k) = (num v - num u) * num b ^+ k * pos (g k - s).
  rewrite -!mulrA; congr (_ * _); rewrite -!pos_mul ?exprn_ge0 ?num_ge0 //; congr pos.
  rewrite -g_low; have -> : num b ^+ k * g k * (1 - s * r ^+ k) = num b ^+ k * (g k - s * (r ^+ k * g k)) by ring.
  by rewrite g_r mulr1.
rewrite -g_low /delta; set G := g k; set L := num b ^+ k; set U := num u; set V := num v.
have G0 : 0 < 1 + G by rewrite ltr_paddr ?ltr01 // (le_trans ler01 (g_ge1 k)).
have V1 : V * V^-1 = 1 by rewrite mulfV ?gt_eqF // num_gt0.
have L1 : L * L^-1 = 1 by rewrite mulfV ?gt_eqF // exprn_gt0.
have G1 : (1 + G) * (1 + G)^-1 = 1 by rewrite mulfV ?gt_eqF.
have -> : (V * (L * G + L))^-1 = V^-1 * L^-1 * (1 + G)^-1.
  have -> : L * G + L = L * (1 + G) by ring.
  by rewrite !inverse mulrA.
move: (pos (G - s)) (pos (1 - s * G)) => one two.
have -> : (U * (L * G + L) + ((V - U) * L * two + (V - U) * L * one)) * (V^-1 * L^-1 * (1 + G)^-1) =
  U / V * (L * L^-1) * ((1 + G) * (1 + G)^-1) + (V * V^-1 - U / V) * (L * L^-1) / (1 + G) * (one + two) by ring.
by rewrite V1 L1 G1 !mulr1.
Qed.

Lemma told_step (T : finType) (P Q : law R T) t d : t <= g k -> d <= delta ->
  approx t d P Q -> approx t d Q P ->
  forall s, 0 <= s -> hockey s P Q <= divergence (told_grid a b k u v) s.
Proof.
move=> t_g d_delta /approx_hockey there /approx_hockey back s s0; rewrite told_divergence //.
apply: dominate_approx => //; rewrite ?g_ge1 ?delta_ge0 ?delta_le1 //.
  by apply: le_trans (hockey_antitone _ (mass_ge0 Q) t_g) (le_trans there d_delta).
by apply: le_trans (hockey_antitone _ (mass_ge0 P) t_g) (le_trans back d_delta).
Qed.
End Told.

(** ** The decision *)

Lemma value_drop n p c : (forall i, (i < n)%N -> c i = 0) -> value p c = value (drop n p) (fun i => c (n + i)%N).
Proof.
elim: n p c => [|n IH] [|x p] c zero //=.
by rewrite zero // mulr0 add0r (IH _ (fun i => c i.+1)) // => i small; apply: zero.
Qed.

Lemma value_difference p c : value p (fun i => 1 - c i) = value p (fun=> 1) - value p c.
Proof. by elim: p c => [|x p IH] c /=; rewrite ?subr0 // (IH (fun i => c i.+1)); ring. Qed.

Lemma value_factor p e c : value p (fun i => e * c i) = e * value p c.
Proof. by elim: p c => [|x p IH] c /=; rewrite ?mulr0 // (IH (fun i => c i.+1)); ring. Qed.

Lemma discounted_value p w c : num w <= c -> num (discounted a b w p) <= c * value p (fun i => r ^+ i.+1).
Proof.
elim: p w c => [|x p IH] w c w_c /=; first by rewrite mulr0.
have next : num (N.div (N.mul w b) a) <= c * r.
  rewrite /r mulrA ler_pdivl_mulr // -num_mul; apply: le_trans (_ : num (N.mul w b) <= _); last first.
    by rewrite num_mul ler_wpmul2r ?num_ge0.
  apply: num_le; apply/N.leb_le; rewrite N.mul_comm; apply: N.mul_div_le.
  by move=> a_0; move: a_gt0; rewrite a_0 /num ltxx.
rewrite num_add num_mul mulrDr expr1; apply: ler_add.
  by rewrite mulrCA ler_wpmul2l ?num_ge0.
apply: le_trans (IH _ _ next) _; rewrite -mulrA -value_factor.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (_ * _); apply: value_eq => i; rewrite [in RHS]exprS.
Qed.

Lemma loss_high x m i : loss_at x (g m) i = pos (1 - g (lowest x + m) * r ^+ i).
Proof.
rewrite /loss_at; congr (pos (1 - _)).
have -> : (r ^+ lowest x)^-1 = g (lowest x).
  by rewrite -[RHS]mul1r -[1](@mulVf _ (r ^+ lowest x)) ?gt_eqF ?exprn_gt0 // -mulrA g_r mulr1.
by rewrite /g exprD; ring.
Qed.

Lemma at_most_sound places x m u v : 0 < num (denominator x) -> 0 < num v ->
  at_most places a b x m u v -> divergence x (g m) <= num u / num v.
Proof.
move=> D0 v0 /num_le; set tail := drop _ _; rewrite !num_add !num_mul !num_add value_total => decided.
have := unit_gt0 places; have := @discounted_value tail (unit_of places) _ (lexx _).
move: (discounted _ _ _ _) (num (unit_of places)) decided => part A decided part_le A0.
have sum : value (masses x) (loss_at x (g m)) = value tail (fun=> 1) - value tail (fun i => r ^+ i.+1).
  rewrite (@value_drop (lowest x + m).+1) => [|i small]; last first.
    rewrite loss_high pos_0 // subr_le0 -[in X in _ <= X](subnKC (small : i <= lowest x + m)%N).
    by rewrite /g exprD mulrAC [_ * r ^+ i]mulrC g_r mul1r; apply: g_ge1.
  rewrite -value_difference; apply: value_eq => i; rewrite loss_high.
  have -> : ((lowest x + m).+1 + i = i.+1 + (lowest x + m))%N by lia.
  rewrite exprD.
  have -> : g (lowest x + m) * (r ^+ i.+1 * r ^+ (lowest x + m)) = r ^+ i.+1 * (r ^+ (lowest x + m) * g (lowest x + m)) by ring.
  rewrite g_r mulr1 pos_id // subr_ge0; apply: exprn_ile1; first exact: ltW.
  by rewrite /r ler_pdivr_mulr // mul1r num_le.
rewrite /divergence sum ler_pdivr_mulr // mulrAC ler_pdivl_mulr // -(ler_pmul2r A0).
have := le_trans decided (ler_add (lexx _) (ler_wpmul2r (ltW v0) part_le)).
move: (value tail _) (value tail _) => discount all {}decided; rewrite -subr_ge0 in decided.
by rewrite -subr_ge0; congr (0 <= _): decided; ring.
Qed.

(** ** A run: each step is chosen by the outputs before it, and private as its bound says. *)

Lemma grid_unit places steps : denominator (grid_of places a b steps) = unit_of places.
Proof. by case: steps. Qed.

Definition within (s : step) (bound : R * R) : Prop :=
  bound.1 <= (num a / num b) ^+ multiple s /\ bound.2 <= num (mass s) / num (over s).

Fixpoint all_within (steps : seq step) (bounds : seq (R * R)) : Prop :=
  match steps, bounds with
  | [::], [::] => True
  | s :: steps', bound :: bounds' => within s bound /\ all_within steps' bounds'
  | _, _ => False
  end.

Fixpoint obeys (D : Type) (T : finType) (N : relation D) (bounds : seq (R * R)) n (p : program R D T n) : Prop :=
  match p, bounds with
  | Stop, [::] => True
  | Run _ M next, bound :: rest =>
      has_approx N M bound.1 bound.2 /\ has_approx (fun d d' => N d' d) M bound.1 bound.2 /\
      forall x, obeys N rest (next x)
  | _, _ => False
  end.

Theorem run_divergence (places : nat) (D : Type) (T : finType) (N : relation D) steps bounds n (p : program R D T n) d d' :
  all step_ok steps -> all_within steps bounds -> obeys N bounds p -> N d d' ->
  forall t, 0 <= t -> hockey t (run p d) (run p d') <= divergence (grid_of places a b steps) t.
Proof.
move=> ok all_in good neighbours; elim: p steps bounds ok all_in good => [|m M next IH] [|s rest] [|bound bounds] //=.
  move=> _ _ _ t t0; rewrite /divergence /hockey /= /loss_at expr0 divr1 addr0 add0r.
  rewrite [num _ * _]mulrC -mulrA mulfV ?gt_eqF ?unit_gt0 // mulr1.
  by rewrite big_const card_unit /= addr0 mulr1.
case/andP => /andP[/andP[k0 u_v] v0] rest_ok [[small_t small_d] rest_in] [there [back later]] t t0.
apply: le_trans (shift_divergence _ _); last by rewrite /= grid_unit.
apply: compose_grid => // [s' s'0|z s' s'0]; last exact: IH rest_ok rest_in (later z) s' s'0.
apply: le_trans (round_divergence _ _ (told_well _ _ v0)).
exact: told_step (there d d' neighbours) (back d' d neighbours) s' s'0.
Qed.

End Pair.

Theorem decided (places : nat) (a b : N) (D : Type) (T : finType) (N : relation D) steps bounds m u v n (p : program R D T n) t d :
  decide places a b steps m u v -> all_within a b steps bounds -> obeys N bounds p ->
  (num a / num b) ^+ m <= t -> num u / num v <= d -> has_approx N (run p) t d.
Proof.
case/andP => /andP[/andP[/andP[b0 b_a] v0] ok] small all_in good m_t v_d x x' neighbours.
apply/approx_hockey; apply: le_trans v_d; apply: le_trans (at_most_sound b0 b_a _ _ small); last first.
- exact: num_gt0.
- by rewrite grid_unit unit_gt0.
have power0 : 0 <= (num a / num b) ^+ m by rewrite exprn_ge0 // divr_ge0 ?num_ge0.
apply: le_trans (run_divergence b0 b_a places ok all_in good neighbours power0).
exact: hockey_antitone (mass_ge0 _) m_t.
Qed.

End Meaning.
