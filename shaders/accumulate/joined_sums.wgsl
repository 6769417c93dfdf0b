// The sum of partial sums, digit by digit.

// Partial sums, LANES * P.inner apart, and what is known of them together.
struct Acc {
    first: u32,
    count: u32,
    lowest: u32, // of their digits
    end: u32,
    flags: u32,
    counted: vec3<u32>, // digits of how many elements count
    alike: bool, // all are neighbouring digits of the same places: then these are their sums
//# for d in 0..NEAR
    d{d}: i32,
//# end
}

fn acc_none() -> Acc {
    var a: Acc;
    a.lowest = {SUM_DIGITS}u;
    a.alike = true;
    return a;
}

fn acc_join_partial(own: Acc, r: u32) -> Acc {
    var a = own;
    a.first = select(own.first, r, own.count == 0u);
    a.count += 1u;
    let at = {PARTIAL_WORDS}u * r;
    let header = words[at];
    let span = span_of(header);
    // Loads that do not wait for the first one: most partial sums are alike.
//# for d in 0..NEAR
    a.d{d} += bitcast<i32>(words[at + {1 + COUNTS + d}u]);
//# end
    a.alike = own.alike && (header & WHOLE_SUM) == 0u && (own.count == 0u || span.x == own.lowest);
    a.lowest = min(a.lowest, span.x);
    a.end = max(a.end, span.x + span.y);
    a.flags |= header & KINDS;
//# if COUNTS
    a.counted += vec3<u32>(words[at + 1u], words[at + 2u], words[at + 3u]);
//# end
    return a;
}

// Digit `place` of their sum, not carried: of so few it stays below a word (`Sum::most_joined`).
fn digit_of(a: Acc, place: u32) -> i32 {
    var sum = 0;
//# for d in 0..NEAR
    sum = select(sum, a.d{d}, place - a.lowest == {d}u);
//# end
    if a.alike {
        return sum;
    }
    sum = 0;
    for (var i = 0u; i < a.count; i++) {
        let at = {PARTIAL_WORDS}u * (a.first + i * LANES * P.inner);
        let span = span_of(words[at]);
        let digit = place - span.x;
        let there = bitcast<i32>(words[at + {1 + COUNTS}u + min(digit, span.y - 1u)]);
        sum += select(0, there, digit < span.y);
    }
    return sum;
}
//# if SHARED

// The digits of the sum of each team, then those of its count, and its flags. Atomic operations add to them, and their order
// does not matter.
override SHARED_WORDS: u32; // of all teams
var<workgroup> wg_digits: array<atomic<u32>, SHARED_WORDS>;
const TEAM_WORDS: u32 = {SUM_DIGITS + COUNTS + 1}u;

// The sum of a team of at most 256 invocations, for the first of them.
fn acc_across(lid: u32, own: Acc) -> Acc {
    let at = lid / LANES * TEAM_WORDS;
    for (var i = lid % LANES; i < TEAM_WORDS; i += LANES) {
        atomicStore(&wg_digits[at + i], 0u);
    }
    workgroupBarrier();
    var carry = 0;
    for (var place = own.lowest; place < own.end; place++) {
        let x = digit_of(own, place) + carry;
        carry = x >> DIGIT;
        atomicAdd(&wg_digits[at + place], u32(x & BELOW));
    }
    // The last digit is a whole word.
    let last = min(own.end, {SUM_DIGITS - 1}u);
    atomicAdd(&wg_digits[at + last], bitcast<u32>(carry) << ((own.end - last) * DIGIT));
//# if COUNTS
    let count = carried_count(own.counted);
    atomicAdd(&wg_digits[at + {SUM_DIGITS}u], count.x);
    atomicAdd(&wg_digits[at + {SUM_DIGITS + 1}u], count.y);
    atomicAdd(&wg_digits[at + {SUM_DIGITS + 2}u], count.z);
//# end
    atomicOr(&wg_digits[at + TEAM_WORDS - 1u], own.flags);
    workgroupBarrier();
    var a: Acc;
    a.first = at;
    a.end = {SUM_DIGITS}u;
    a.flags = atomicLoad(&wg_digits[at + TEAM_WORDS - 1u]);
//# if COUNTS
    a.counted = vec3<u32>(
        atomicLoad(&wg_digits[at + {SUM_DIGITS}u]),
        atomicLoad(&wg_digits[at + {SUM_DIGITS + 1}u]),
        atomicLoad(&wg_digits[at + {SUM_DIGITS + 2}u]),
    );
//# end
    return a;
}
//# end

// Keeps the digits of a sum, the lowest first.
fn keep_digits(a: Acc) {
    var carry = 0;
    for (var place = a.lowest; place < a.end || carry != 0; place++) {
        var x = carry;
        if place < a.end {
//# if SHARED
            x += bitcast<i32>(atomicLoad(&wg_digits[a.first + place]));
//# else
            x += digit_of(a, place);
//# end
        }
        carry = keep_low(x, i32(place));
    }
}
//# if PARTIAL_SUM

fn acc_emit(slot: u32, a: Acc) {
    record = {PARTIAL_WORDS}u * (P.dst_delta + slot);
    begin_record();
    keep_digits(a);
    end_record(a.flags, a.counted);
}
//# else

fn acc_element(a: Acc) -> Raw {
    kept = Kept();
    keep_digits(a);
//# if COUNTS
    let c = carried_count(a.counted);
    let count = vec2<u32>(c.x | (c.y << DIGIT), (c.y >> 10u) | (c.z << 12u));
//# else
//# if MEAN
    let count = vec2<u32>(P.fill_lo, P.fill_hi);
//# else
    let count = vec2<u32>(0u);
//# end
//# end
    return result_of(total_of(a.flags, count));
}

fn acc_emit(slot: u32, a: Acc) {
    write_bits(slot, pack(acc_element(a)));
}
//# end
