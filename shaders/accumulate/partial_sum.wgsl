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
//# if COUNTS

// The digits of a count, carried.
fn carried_count(count: vec3<u32>) -> vec3<u32> {
    let middle = count.y + (count.x >> DIGIT);
    return vec3<u32>(count.x & u32(BELOW), middle & u32(BELOW), count.z + (middle >> DIGIT));
}
//# end
//# if PARTIAL_SUM

// Of the partial sum that is written: its first word, or NOWHERE where another invocation writes it.
var<private> record: u32;
const NOWHERE: u32 = 0xffffffffu;

fn digit_word(place: u32) -> u32 {
    return record + {1 + COUNTS}u + place;
}

// All digits become 0, or those of the partial sum that is there.
fn begin_record() {
    if record == NOWHERE {
        return;
    }
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
    if record != NOWHERE {
        dst[digit_word(u32(place))] += bitcast<u32>(digit);
    }
}

// Carries, and writes what is before the digits.
fn end_record(flags: u32, count: vec3<u32>) {
    if record == NOWHERE {
        return;
    }
    var kinds = flags;
    var sum = count;
    if P.merge != 0u {
        kinds |= dst[record] & KINDS;
//# if COUNTS
        sum += vec3<u32>(dst[record + 1u], dst[record + 2u], dst[record + 3u]);
//# end
        var carry = 0;
        for (var i = 0u; i < {SUM_DIGITS - 1}u; i++) {
            let x = bitcast<i32>(dst[digit_word(i)]) + carry;
            dst[digit_word(i)] = u32(x & BELOW);
            carry = x >> DIGIT;
        }
        dst[digit_word({SUM_DIGITS - 1}u)] += bitcast<u32>(carry);
    }
    dst[record] = kinds | WHOLE_SUM;
//# if COUNTS
    write_count(sum);
//# end
}
//# if COUNTS

fn write_count(count: vec3<u32>) {
    let digits = carried_count(count);
    dst[record + 1u] = digits.x;
    dst[record + 2u] = digits.y;
    dst[record + 3u] = digits.z;
}
//# end
//# if JOINS == 0

// Whether the digits of one window are written alone.
fn is_alone(windows: u32) -> bool {
    return windows == 1u && P.merge == 0u;
}

// Writes digits that are carried, from `first` on.
fn write_digits(first: u32, o: One) {
    if record == NOWHERE {
        return;
    }
    dst[record] = flags | (first << PLACE_SHIFT);
//# if COUNTS
    write_count(vec3<u32>(counted, 0u, 0u));
//# end
//# for d in 0..W + 1
    dst[digit_word({d}u)] = bitcast<u32>(o.d{d});
//# end
}

// Leaves the sum of elements, whose digits from `lowest` on are known unless it is far.
fn leave_sum(lid: u32, at: u32, far: bool, lowest: u32, own: One, minus: bool, e: Elements) {
    record = select({PARTIAL_WORDS}u * (P.dst_delta + at), NOWHERE, at == NOWHERE);
    var first = lowest;
    var windows = 1u;
//# if ONE_BY_ONE
    if far {
        let extent = extent_of(lid, e);
        first = extent.x;
        windows = windows_of(extent);
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
        counted = e.count;
    }
//# end
    if !is_alone(windows) {
        begin_record();
    }
    keep_digits(lid, far, windows, first, own, e);
    if !is_alone(windows) {
        end_record(flags, vec3<u32>(counted, 0u, 0u));
    }
}
//# end
//# end
