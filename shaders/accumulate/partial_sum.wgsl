// A partial sum in memory: a word of flags, of a mean without its NaNs {COUNTS} digits of the count, and digits of the sum. Those
// are either all {SUM_DIGITS}, of which the last one is a whole word with a sign, or {NEAR} neighbouring ones: then the first
// word also has the place of the lowest. The highest of them is a whole word too.
const WHOLE_SUM: u32 = 32u;
const KINDS: u32 = 31u; // the flags
const PLACE_SHIFT: u32 = 8u;

// The lowest digit that a partial sum has, and how many.
fn span_of(header: u32) -> vec2<u32> {
    return select(vec2<u32>(header >> PLACE_SHIFT, {NEAR}u), vec2<u32>(0u, {SUM_DIGITS}u), (header & WHOLE_SUM) != 0u);
}
//# if PARTIAL_SUM

// Of the partial sum that is written: its first word, or NOWHERE where another invocation writes it.
var<private> record: u32;
const NOWHERE: u32 = 0xffffffffu;

fn digit_word(place: u32) -> u32 {
    return record + {1 + COUNTS}u + place;
}

// All digits become 0, or those of the partial sum that is there.
fn begin_record() {
    var span = vec2<u32>(0u);
    if P.merge != 0u {
        span = span_of(dst[record]);
    }
    // From the highest on: none has moved when it is read.
    for (var i = {SUM_DIGITS}u; i > 0u; i--) {
        let digit = i - 1u - span.x;
        let there = dst[digit_word(min(digit, i - 1u))];
        dst[digit_word(i - 1u)] = select(0u, there, digit < span.y);
    }
}

fn keep(digit: i32, place: i32) {
    if record != NOWHERE && digit != 0 {
        dst[digit_word(u32(place))] += bitcast<u32>(digit);
    }
}

// Writes what is before the digits, and carries those of both sums.
fn end_record() {
    if P.merge != 0u {
        flags |= dst[record] & KINDS;
//# for c in 0..COUNTS
        count{c} += dst[record + {1 + c}u];
//# end
        var carry = 0;
        for (var i = 0u; i < {SUM_DIGITS - 1}u; i++) {
            let x = bitcast<i32>(dst[digit_word(i)]) + carry;
            dst[digit_word(i)] = u32(x & BELOW);
            carry = x >> DIGIT;
        }
        dst[digit_word({SUM_DIGITS - 1}u)] += bitcast<u32>(carry);
    }
    begin_words(WHOLE_SUM);
}

// Writes what is before the digits.
fn begin_words(span: u32) {
    dst[record] = flags | span;
    carry_count();
//# for c in 0..COUNTS
    dst[record + {1 + c}u] = count{c};
//# end
}

// Whether the digits of one window are written alone.
fn is_alone(windows: u32) -> bool {
    return windows == 1u && P.merge == 0u && {JOINS} == 0;
}

// Writes digits that are carried, from `first` on.
fn write_digits(first: u32, o: One) {
    if record == NOWHERE {
        return;
    }
    begin_words(first << PLACE_SHIFT);
//# for d in 0..NEAR
    dst[digit_word({d}u)] = bitcast<u32>(o.d{d});
//# end
}

// Leaves the sum of elements, whose digits from `lowest` on are known unless it is far.
fn leave_sum(lid: u32, at: u32, far: bool, lowest: u32, own: One, minus: bool, e: Elements) {
    record = select({PARTIAL_WORDS}u * (P.dst_delta + at), NOWHERE, at == NOWHERE);
    var first = lowest;
    var windows = 1u; // the same in all invocations, while the first digit is not
    var o = own;
//# if ONE_BY_ONE
    if far {
        let extent = extent_of(lid, e);
        first = extent.x;
        windows = extent.y;
        o = One();
    }
//# end
//# if FLOATS
    if !far {
        let any = (
//# for d in 0..W + 1
            own.d{d} |
//# end
            0
        ) != 0;
        flags = select(OTHER, MINUS_ZERO, minus && !any);
//# for c in 0..COUNTS
        count{c} = e.count * {c == 0};
//# end
    }
//# end
    if record != NOWHERE && !is_alone(windows) {
        begin_record();
    }
    keep_digits(lid, far, windows, first, o, e);
    if record != NOWHERE && !is_alone(windows) {
        end_record();
    }
}
//# end
