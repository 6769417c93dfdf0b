struct NagaConstants {
    int first_vertex;
    int first_instance;
    uint other;
};
ConstantBuffer<NagaConstants> _NagaConstants: register(b1);

struct Params {
    uint grid;
    uint items;
    uint lanes;
    uint len;
    uint inner;
    uint slices;
    uint slice;
    uint width;
    uint total;
    uint src_delta;
    uint dst_delta;
    uint merge;
    uint base_lo;
    uint base_hi;
    uint fill_lo;
    uint fill_hi;
};

struct Acc {
    uint flags;
    uint takes;
};

struct Number {
    uint place;
    int x0_;
};

struct Leading {
    uint2 bits;
    int place;
    bool rest;
};

struct Span {
    uint begin;
    uint end;
    uint first;
    uint last;
};

struct Run {
    uint at;
    uint step_;
    uint count;
    uint origin;
};

struct Limbs {
    int l0_;
    int l1_;
    int l2_;
    int l3_;
    int l4_;
    int l5_;
    int l6_;
    int l7_;
    int l8_;
    int l9_;
    int l10_;
    int l11_;
    int l12_;
    int l13_;
};

struct Window {
    int w0_;
    int w1_;
    int w2_;
    int most;
};

struct Seen {
    uint most;
    uint least;
};

struct Frame {
    uint begin;
    uint least;
    uint end;
};

static const uint WHOLE = 4294967295u;
static const uint PAD = 4294967295u;
static const uint KEEP = 4294967295u;
static const uint TOP = 2147483648u;
static const uint E = 4u;
static const int LIMB = int(16777215);
static const uint NAN = 1u;
static const uint PLUS_INFINITY = 2u;
static const uint MINUS_INFINITY = 4u;
static const uint MINUS_ZERO = 8u;
static const uint OTHER = 16u;
static const uint INFINITE = 2139095040u;
static const uint4 NO_ELEMENTS = (2147483648u).xxxx;
static const uint OUT = 3u;
static const uint SHARED_WORDS = 240u;
static const uint LANES = 16u;
static const uint BLOCKED = 0u;
static const uint WG = 256u;
static const uint COARSENED = 0u;

cbuffer P : register(b0) { Params P; }
RWByteAddressBuffer dst_ : register(u0);
ByteAddressBuffer words : register(t1);
ByteAddressBuffer src : register(t0);
static int limbs[14] = (int[14])0;
static uint first_limb = (uint)0;
static uint end_limb = (uint)0;
groupshared uint shared_limbs[240];

uint linear_(uint3 group_1)
{
    uint _e4 = P.grid;
    return ((group_1.y * _e4) + group_1.x);
}

void write_bits(uint o, uint2 bits)
{
    uint _e4 = P.dst_delta;
    uint at_2 = (_e4 + o);
    if (true) {
        dst_.Store(at_2*4, asuint(bits.x));
        return;
    } else {
        dst_.Store((2u * at_2)*4, asuint(bits.x));
        dst_.Store(((2u * at_2) + 1u)*4, asuint(bits.y));
        return;
    }
}

uint word_of(uint e)
{
    return (e >> 0u);
}

uint raw_from(uint low, uint high, uint e_1)
{
    return low;
}

uint2 pack(uint k)
{
    return uint2(k, 0u);
}

uint raw(uint e_2)
{
    const uint _e1 = word_of(e_2);
    uint _e4 = asuint(words.Load(_e1*4));
    const uint _e6 = raw_from(_e4, 0u, e_2);
    return _e6;
}

Acc ConstructAcc(uint arg0, uint arg1) {
    Acc ret = (Acc)0;
    ret.flags = arg0;
    ret.takes = arg1;
    return ret;
}

Acc acc_none(uint first)
{
    uint i_1 = 0u;

    uint2 loop_bound = uint2(4294967295u, 4294967295u);
    bool loop_init = true;
    while(true) {
        if (all(loop_bound == uint2(0u, 0u))) { break; }
        loop_bound -= uint2(loop_bound.y == 0u, 1u);
        if (!loop_init) {
            uint _e11 = i_1;
            i_1 = (_e11 + 1u);
        }
        loop_init = false;
        uint _e3 = i_1;
        if ((_e3 < 14u)) {
        } else {
            break;
        }
        {
            uint _e7 = i_1;
            limbs[min(uint(_e7), 13u)] = int(0);
        }
    }
    first_limb = 14u;
    end_limb = 0u;
    const Acc acc = ConstructAcc(0u, 0u);
    return acc;
}

void carry_limbs(uint first_1, uint end)
{
    int carry = int(0);
    uint i_2 = (uint)0;

    i_2 = first_1;
    uint2 loop_bound_1 = uint2(4294967295u, 4294967295u);
    bool loop_init_1 = true;
    while(true) {
        if (all(loop_bound_1 == uint2(0u, 0u))) { break; }
        loop_bound_1 -= uint2(loop_bound_1.y == 0u, 1u);
        if (!loop_init_1) {
            uint _e23 = i_2;
            i_2 = (_e23 + 1u);
        }
        loop_init_1 = false;
        uint _e5 = i_2;
        if (((_e5 + 1u) < end)) {
        } else {
            break;
        }
        {
            uint _e10 = i_2;
            int _e12 = limbs[min(uint(_e10), 13u)];
            int _e13 = carry;
            int x_6 = asint(asuint(_e12) + asuint(_e13));
            uint _e16 = i_2;
            limbs[min(uint(_e16), 13u)] = (x_6 & LIMB);
            carry = (x_6 >> 24u);
        }
    }
    int _e29 = limbs[min(uint((end - 1u)), 13u)];
    int _e30 = carry;
    limbs[min(uint((end - 1u)), 13u)] = asint(asuint(_e29) + asuint(_e30));
    return;
}

void carry_1()
{
    uint _e2 = end_limb;
    end_limb = min((_e2 + 1u), 14u);
    uint _e8 = first_limb;
    uint _e10 = end_limb;
    carry_limbs(_e8, _e10);
    return;
}

void carry_all()
{
    first_limb = 0u;
    end_limb = 14u;
    carry_1();
    return;
}

void add_piece(int x, uint place)
{
    uint i_17 = ((place * 2731u) >> 16u);
    uint off = (place - (24u * i_17));
    int _e11 = limbs[min(uint(i_17), 13u)];
    limbs[min(uint(i_17), 13u)] = asint(asuint(_e11) + asuint(((x << off) & LIMB)));
    int _e20 = limbs[min(uint((i_17 + 1u)), 13u)];
    limbs[min(uint((i_17 + 1u)), 13u)] = asint(asuint(_e20) + asuint((x >> (24u - off))));
    uint _e27 = first_limb;
    first_limb = min(_e27, i_17);
    uint _e31 = end_limb;
    end_limb = max(_e31, (i_17 + 2u));
    return;
}

uint size_of(uint r)
{
    return (r & 2147483647u);
}

Number ConstructNumber(uint arg0, int arg1) {
    Number ret = (Number)0;
    ret.place = arg0;
    ret.x0_ = arg1;
    return ret;
}

Number number(uint r_1)
{
    const uint _e1 = size_of(r_1);
    uint exponent = (_e1 >> 23u);
    uint above = (exponent - min(exponent, 1u));
    uint low_1 = ((_e1 >> 0u) - (above << 23u));
    int sign_ = (asint(r_1) >> 31u);
    uint place_4 = (above * 1u);
    int p0_ = int(low_1);
    const Number number_1 = ConstructNumber(place_4, p0_);
    return number_1;
}

uint flag_of(uint r_2)
{
    const uint _e1 = size_of(r_2);
    bool special = (_e1 >= INFINITE);
    bool negative_1 = (r_2 >= 2147483648u);
    bool nan = (_e1 > INFINITE);
    bool minus_zero = (r_2 == 2147483648u);
    uint finite = (minus_zero ? MINUS_ZERO : OTHER);
    return (nan ? 0u : (special ? 18u : finite));
}

Number number_of(uint r_3)
{
    const uint _e2 = size_of(r_3);
    const Number _e6 = number(((_e2 >= INFINITE) ? 0u : r_3));
    const Number number_2 = _e6;
    return number_2;
}

Acc acc_add(Acc own, uint r_4)
{
    Acc a = (Acc)0;

    a = own;
    const uint _e3 = flag_of(r_4);
    uint _e5 = a.flags;
    a.flags = (_e5 | _e3);
    const Number _e7 = number_of(r_4);
    add_piece(_e7.x0_, (_e7.place + 0u));
    Acc _e12 = a;
    const Acc acc_1 = _e12;
    return acc_1;
}

Acc took(Acc own_1)
{
    Acc a_1 = (Acc)0;

    a_1 = own_1;
    uint _e3 = a_1.takes;
    a_1.takes = (_e3 + 1u);
    uint _e7 = a_1.takes;
    if ((_e7 == 60u)) {
        carry_1();
        a_1.takes = 0u;
    }
    Acc _e12 = a_1;
    const Acc acc_2 = _e12;
    return acc_2;
}

Acc acc_take(Acc own_2, uint r_5, uint t)
{
    const Acc _e3 = acc_add(own_2, r_5);
    const Acc _e4 = took(_e3);
    const Acc acc_3 = _e4;
    return acc_3;
}

void acc_write(uint at, Acc a_2)
{
    uint flags = (uint)0;
    uint i_3 = 0u;
    uint i_4 = 0u;

    uint to = (16u * at);
    flags = a_2.flags;
    carry_all();
    uint _e8 = P.merge;
    if ((_e8 != 0u)) {
        uint2 loop_bound_2 = uint2(4294967295u, 4294967295u);
        bool loop_init_2 = true;
        while(true) {
            if (all(loop_bound_2 == uint2(0u, 0u))) { break; }
            loop_bound_2 -= uint2(loop_bound_2.y == 0u, 1u);
            if (!loop_init_2) {
                uint _e30 = i_3;
                i_3 = (_e30 + 1u);
            }
            loop_init_2 = false;
            uint _e13 = i_3;
            if ((_e13 < 14u)) {
            } else {
                break;
            }
            {
                uint _e17 = i_3;
                int _e19 = limbs[min(uint(_e17), 13u)];
                uint _e23 = i_3;
                uint _e26 = asuint(dst_.Load(((to + 1u) + _e23)*4));
                limbs[min(uint(_e17), 13u)] = asint(asuint(_e19) + asuint(int(_e26)));
            }
        }
        carry_1();
        uint _e32 = flags;
        uint _e35 = asuint(dst_.Load(to*4));
        flags = (_e32 | _e35);
    }
    uint _e39 = flags;
    dst_.Store(to*4, asuint(_e39));
    uint2 loop_bound_3 = uint2(4294967295u, 4294967295u);
    bool loop_init_3 = true;
    while(true) {
        if (all(loop_bound_3 == uint2(0u, 0u))) { break; }
        loop_bound_3 -= uint2(loop_bound_3.y == 0u, 1u);
        if (!loop_init_3) {
            uint _e57 = i_4;
            i_4 = (_e57 + 1u);
        }
        loop_init_3 = false;
        uint _e42 = i_4;
        if ((_e42 < 14u)) {
        } else {
            break;
        }
        {
            uint _e48 = i_4;
            uint _e52 = i_4;
            int _e54 = limbs[min(uint(_e52), 13u)];
            dst_.Store(((to + 1u) + _e48)*4, asuint(asuint(_e54)));
        }
    }
    return;
}

void take_shared(uint at_1, uint first_2, uint end_1)
{
    uint carry_2 = 0u;
    uint i_5 = (uint)0;

    i_5 = first_2;
    uint2 loop_bound_4 = uint2(4294967295u, 4294967295u);
    bool loop_init_4 = true;
    while(true) {
        if (all(loop_bound_4 == uint2(0u, 0u))) { break; }
        loop_bound_4 -= uint2(loop_bound_4.y == 0u, 1u);
        if (!loop_init_4) {
            uint _e26 = i_5;
            i_5 = (_e26 + 1u);
        }
        loop_init_4 = false;
        uint _e6 = i_5;
        if (((_e6 + 1u) < end_1)) {
        } else {
            break;
        }
        {
            uint _e11 = i_5;
            uint _e14; InterlockedOr(shared_limbs[min(uint((at_1 + _e11)), 239u)], 0, _e14);
            uint _e15 = carry_2;
            uint x_7 = (_e14 + _e15);
            uint _e18 = i_5;
            limbs[min(uint(_e18), 13u)] = int((x_7 & 16777215u));
            carry_2 = (x_7 >> 24u);
        }
    }
    uint _e37; InterlockedOr(shared_limbs[min(uint(((at_1 + end_1) - 1u)), 239u)], 0, _e37);
    uint _e38 = carry_2;
    limbs[min(uint((end_1 - 1u)), 13u)] = asint((_e37 + _e38));
    return;
}

uint naga_div(uint lhs, uint rhs) {
    return lhs / (rhs == 0u ? 1u : rhs);
}

uint naga_mod(uint lhs, uint rhs) {
    return lhs % (rhs == 0u ? 1u : rhs);
}

Acc acc_across(uint lid_1, Acc own_3)
{
    uint i_6 = (uint)0;
    uint i_7 = 0u;
    Acc a_3 = (Acc)0;

    uint at_3 = (naga_div(lid_1, LANES) * 15u);
    i_6 = naga_mod(lid_1, LANES);
    uint2 loop_bound_5 = uint2(4294967295u, 4294967295u);
    bool loop_init_5 = true;
    while(true) {
        if (all(loop_bound_5 == uint2(0u, 0u))) { break; }
        loop_bound_5 -= uint2(loop_bound_5.y == 0u, 1u);
        if (!loop_init_5) {
            uint _e17 = i_6;
            i_6 = (_e17 + LANES);
        }
        loop_init_5 = false;
        uint _e9 = i_6;
        if ((_e9 < 15u)) {
        } else {
            break;
        }
        {
            uint _e13 = i_6;
            { uint dummy = 0; InterlockedExchange(shared_limbs[min(uint((at_3 + _e13)), 239u)], 0u, dummy); }
        }
    }
    carry_all();
    GroupMemoryBarrierWithGroupSync();
    uint2 loop_bound_6 = uint2(4294967295u, 4294967295u);
    bool loop_init_6 = true;
    while(true) {
        if (all(loop_bound_6 == uint2(0u, 0u))) { break; }
        loop_bound_6 -= uint2(loop_bound_6.y == 0u, 1u);
        if (!loop_init_6) {
            uint _e36 = i_7;
            i_7 = (_e36 + 1u);
        }
        loop_init_6 = false;
        uint _e22 = i_7;
        if ((_e22 < 14u)) {
        } else {
            break;
        }
        {
            uint _e26 = i_7;
            uint _e30 = i_7;
            int _e32 = limbs[min(uint(_e30), 13u)];
            uint _e34; InterlockedAdd(shared_limbs[min(uint((at_3 + _e26)), 239u)], asuint(_e32), _e34);
        }
    }
    uint _e43; InterlockedOr(shared_limbs[min(uint((at_3 + 14u)), 239u)], own_3.flags, _e43);
    GroupMemoryBarrierWithGroupSync();
    a_3 = own_3;
    if ((naga_mod(lid_1, LANES) == 0u)) {
        take_shared(at_3, 0u, 14u);
        uint _e56; InterlockedOr(shared_limbs[min(uint((at_3 + 14u)), 239u)], 0, _e56);
        a_3.flags = _e56;
    }
    GroupMemoryBarrierWithGroupSync();
    Acc _e57 = a_3;
    const Acc acc_4 = _e57;
    return acc_4;
}

int naga_neg(int val) {
    return asint(-asuint(val));
}

bool take_sign()
{
    uint i_8 = (uint)0;

    carry_1();
    uint _e2 = end_limb;
    int _e6 = limbs[min(uint((_e2 - 1u)), 13u)];
    bool negative_2 = (_e6 < int(0));
    if (negative_2) {
        uint _e10 = first_limb;
        i_8 = _e10;
        uint2 loop_bound_7 = uint2(4294967295u, 4294967295u);
        bool loop_init_7 = true;
        while(true) {
            if (all(loop_bound_7 == uint2(0u, 0u))) { break; }
            loop_bound_7 -= uint2(loop_bound_7.y == 0u, 1u);
            if (!loop_init_7) {
                uint _e25 = i_8;
                i_8 = (_e25 + 1u);
            }
            loop_init_7 = false;
            uint _e12 = i_8;
            uint _e14 = end_limb;
            if ((_e12 < _e14)) {
            } else {
                break;
            }
            {
                uint _e17 = i_8;
                uint _e20 = i_8;
                int _e22 = limbs[min(uint(_e20), 13u)];
                limbs[min(uint(_e17), 13u)] = naga_neg(_e22);
            }
        }
        carry_1();
    }
    return negative_2;
}

uint limb(int i_9)
{
    if ((i_9 < int(0))) {
        return 0u;
    }
    int _e6 = limbs[min(uint(i_9), 13u)];
    return uint(_e6);
}

int top_limb()
{
    int i_10 = (int)0;
    bool local = (bool)0;

    uint _e1 = end_limb;
    i_10 = asint(asuint(int(_e1)) - asuint(int(1)));
    uint2 loop_bound_8 = uint2(4294967295u, 4294967295u);
    while(true) {
        if (all(loop_bound_8 == uint2(0u, 0u))) { break; }
        loop_bound_8 -= uint2(loop_bound_8.y == 0u, 1u);
        int _e6 = i_10;
        uint _e8 = first_limb;
        if ((_e6 >= int(_e8))) {
            int _e14 = i_10;
            int _e16 = limbs[min(uint(_e14), 13u)];
            local = (_e16 == int(0));
        } else {
            local = false;
        }
        bool _e20 = local;
        if (_e20) {
        } else {
            break;
        }
        {
            int _e22 = i_10;
            i_10 = asint(asuint(_e22) - asuint(int(1)));
        }
    }
    int _e24 = i_10;
    int _e25 = i_10;
    uint _e27 = first_limb;
    return ((_e25 < int(_e27)) ? int(-1) : _e24);
}

bool any_below(int limb_1)
{
    int any_ = int(0);
    int i_11 = (int)0;

    uint _e4 = first_limb;
    i_11 = int(_e4);
    uint2 loop_bound_9 = uint2(4294967295u, 4294967295u);
    bool loop_init_8 = true;
    while(true) {
        if (all(loop_bound_9 == uint2(0u, 0u))) { break; }
        loop_bound_9 -= uint2(loop_bound_9.y == 0u, 1u);
        if (!loop_init_8) {
            int _e16 = i_11;
            i_11 = asint(asuint(_e16) + asuint(int(1)));
        }
        loop_init_8 = false;
        int _e7 = i_11;
        if ((_e7 < limb_1)) {
        } else {
            break;
        }
        {
            int _e9 = any_;
            int _e11 = i_11;
            int _e13 = limbs[min(uint(_e11), 13u)];
            any_ = (_e9 | _e13);
        }
    }
    int _e18 = any_;
    return (_e18 != int(0));
}

int bits_in(uint x_1)
{
    return asint(asuint(int(32)) - asuint(int((31u - firstbithigh(x_1)))));
}

int bits_in_two(uint2 x_2)
{
    const int _e2 = bits_in(x_2.x);
    const int _e4 = bits_in(x_2.y);
    return ((x_2.y != 0u) ? asint(asuint(int(32)) + asuint(_e4)) : _e2);
}

Leading ConstructLeading(uint2 arg0, int arg1, bool arg2) {
    Leading ret = (Leading)0;
    ret.bits = arg0;
    ret.place = arg1;
    ret.rest = arg2;
    return ret;
}

Leading leading(uint4 four, int place_1, bool below)
{
    bool local_1 = (bool)0;
    bool local_2 = (bool)0;

    const int _e4 = bits_in(four.x);
    uint up = uint(asint(asuint(int(24)) - asuint(_e4)));
    uint4 high_1 = ((four << (up).xxxx) & (16777215u).xxxx);
    uint4 low_2 = (four >> ((24u - up)).xxxx);
    uint a_12 = (high_1.x | low_2.y);
    uint b = (high_1.y | low_2.z);
    uint c = (high_1.z | low_2.w);
    if (!(((c & 255u) != 0u))) {
        local_1 = (high_1.w != 0u);
    } else {
        local_1 = true;
    }
    bool rest = local_1;
    uint2 bits_3 = uint2(((b << 16u) | (c >> 8u)), ((a_12 << 8u) | (b >> 16u)));
    const int _e50 = bits_in(four.x);
    if (!(rest)) {
        local_2 = below;
    } else {
        local_2 = true;
    }
    bool _e58 = local_2;
    const Leading leading_1 = ConstructLeading(bits_3, asint(asuint(asint(asuint(place_1) + asuint(_e50))) - asuint(int(64))), _e58);
    return leading_1;
}

uint2 shifted_down(uint2 x_3, uint by)
{
    if ((by >= 32u)) {
        return uint2((x_3.y >> (by - 32u)), 0u);
    }
    return uint2(((x_3.x >> by) | ((x_3.y << 1u) << (31u - by))), (x_3.y >> by));
}

uint2 shifted_up(uint2 x_4, uint by_1)
{
    if ((by_1 >= 32u)) {
        return uint2(0u, (x_4.x << (by_1 - 32u)));
    }
    return uint2((x_4.x << by_1), ((x_4.y << by_1) | ((x_4.x >> 1u) >> (31u - by_1))));
}

uint2 ZeroValueuint2() {
    return (uint2)0;
}

uint2 rounded(Leading l)
{
    bool local_3 = (bool)0;
    bool local_4 = (bool)0;
    uint2 q = (uint2)0;
    bool local_5 = (bool)0;
    bool local_6 = (bool)0;
    bool local_7 = (bool)0;

    const int _e3 = bits_in_two(l.bits);
    int top_1 = asint(asuint(asint(asuint(l.place) + asuint(_e3))) - asuint(int(1)));
    int unit = max(asint(asuint(top_1) - asuint(int(23))), int(0));
    int down = asint(asuint(unit) - asuint(l.place));
    if ((down > int(64))) {
        return ZeroValueuint2();
    }
    uint off_1 = uint(asint(asuint(down) - asuint(int(1))));
    const uint2 _e20 = shifted_down(l.bits, off_1);
    bool half_ = ((_e20.x & 1u) != 0u);
    const uint2 _e26 = shifted_up(_e20, off_1);
    if (!(l.rest)) {
        local_3 = (_e26.x != l.bits.x);
    } else {
        local_3 = true;
    }
    bool _e36 = local_3;
    if (!(_e36)) {
        local_4 = (_e26.y != l.bits.y);
    } else {
        local_4 = true;
    }
    bool rest_1 = local_4;
    const uint2 _e47 = shifted_down(_e20, 1u);
    q = _e47;
    if (half_) {
        if (!(rest_1)) {
            uint _e55 = q.x;
            local_6 = ((_e55 & 1u) != 0u);
        } else {
            local_6 = true;
        }
        bool _e61 = local_6;
        local_5 = _e61;
    } else {
        local_5 = false;
    }
    bool _e63 = local_5;
    if (_e63) {
        uint _e65 = q.x;
        q.x = (_e65 + 1u);
        uint _e69 = q.y;
        uint _e73 = q.x;
        q.y = (_e69 + ((_e73 == 0u) ? 1u : 0u));
    }
    uint exponent_1 = uint(asint(asuint(unit) - asuint(int(0))));
    uint _e83 = q.x;
    uint bits_4 = (_e83 + (exponent_1 << 23u));
    if (!((exponent_1 >= 255u))) {
        local_7 = (bits_4 >= 2139095040u);
    } else {
        local_7 = true;
    }
    bool _e94 = local_7;
    return uint2((_e94 ? 2139095040u : bits_4), 0u);
}

uint2 float_bits(uint top)
{
    return uint2(top, 0u);
}

uint2 signed_bits(uint2 bits_1, bool negative)
{
    return (bits_1 | uint2((negative ? 2147483648u : 0u), 0u));
}

uint2 acc_bits(Acc a_4)
{
    bool local_8 = (bool)0;

    uint infinities = (a_4.flags & 6u);
    if (!(((a_4.flags & NAN) != 0u))) {
        local_8 = (infinities == 6u);
    } else {
        local_8 = true;
    }
    bool _e16 = local_8;
    if (_e16) {
        const uint2 _e17 = float_bits(2143289344u);
        return _e17;
    }
    if ((infinities != 0u)) {
        const uint2 _e21 = float_bits(2139095040u);
        const uint2 _e24 = signed_bits(_e21, (infinities == MINUS_INFINITY));
        return _e24;
    }
    const bool _e25 = take_sign();
    const int _e26 = top_limb();
    if ((_e26 < int(0))) {
        return ZeroValueuint2();
    }
    const uint _e30 = limb(_e26);
    const uint _e33 = limb(asint(asuint(_e26) - asuint(int(1))));
    const uint _e36 = limb(asint(asuint(_e26) - asuint(int(2))));
    const uint _e39 = limb(asint(asuint(_e26) - asuint(int(3))));
    uint4 four_1 = uint4(_e30, _e33, _e36, _e39);
    const bool _e45 = any_below(asint(asuint(_e26) - asuint(int(3))));
    const Leading _e46 = leading(four_1, asint(asuint(int(24)) * asuint(_e26)), _e45);
    const uint2 _e47 = rounded(_e46);
    const uint2 _e48 = signed_bits(_e47, _e25);
    return _e48;
}

uint element_of(uint2 bits_2)
{
    return (bits_2.x << 0u);
}

uint acc_element(Acc a_5)
{
    const uint2 _e1 = acc_bits(a_5);
    const uint _e2 = element_of(_e1);
    return _e2;
}

void acc_emit(uint slot, Acc a_6)
{
    if (false) {
        uint _e8 = P.dst_delta;
        acc_write((_e8 + slot), a_6);
        return;
    } else {
        const uint _e10 = acc_element(a_6);
        const uint2 _e11 = pack(_e10);
        write_bits(slot, _e11);
        return;
    }
}

uint4 run_vec(Run run, uint i_12)
{
    uint4 _e8 = asuint(src.Load4((run.at + (i_12 * run.step_))*16));
    return _e8;
}

Span ConstructSpan(uint arg0, uint arg1, uint arg2, uint arg3) {
    Span ret = (Span)0;
    ret.begin = arg0;
    ret.end = arg1;
    ret.first = arg2;
    ret.last = arg3;
    return ret;
}

Span span(uint begin, uint len)
{
    uint first_4 = naga_div(((begin + E) - 1u), E);
    const Span span_1 = ConstructSpan(begin, (begin + len), first_4, max(first_4, naga_div((begin + len), E)));
    return span_1;
}

Run ConstructRun(uint arg0, uint arg1, uint arg2, uint arg3) {
    Run ret = (Run)0;
    ret.at = arg0;
    ret.step_ = arg1;
    ret.count = arg2;
    ret.origin = arg3;
    return ret;
}

Run run_of(Span s, uint lane, uint origin)
{
    if (true) {
        uint at_4 = (s.first + lane);
        const Run run_4 = ConstructRun(at_4, LANES, naga_div((((max(s.last, at_4) - at_4) + LANES) - 1u), LANES), origin);
        return run_4;
    }
    uint share = naga_div((((s.last - s.first) + LANES) - 1u), LANES);
    uint at_5 = min((s.first + (lane * share)), s.last);
    const Run run_5 = ConstructRun(at_5, 1u, min(share, (s.last - at_5)), origin);
    return run_5;
}

Span item_span(uint item)
{
    uint _e3 = P.slices;
    uint row = naga_div(item, _e3);
    uint _e7 = P.slices;
    uint _e12 = P.slice;
    uint skip = ((item - (row * _e7)) * _e12);
    uint _e16 = P.src_delta;
    uint _e19 = P.len;
    uint _e25 = P.slice;
    uint _e28 = P.len;
    const Span _e31 = span(((_e16 + (row * _e19)) + skip), min(_e25, (_e28 - skip)));
    const Span span_2 = _e31;
    return span_2;
}

uint4 run_vec_or_none(Run run_1, uint i_13)
{
    const uint4 _e7 = run_vec(run_1, min(i_13, (run_1.count - 1u)));
    return (((i_13 < run_1.count)).xxxx ? _e7 : NO_ELEMENTS);
}

uint run_raw(uint4 v, uint e_3)
{
    const uint _e6 = raw_from(v[min(uint((e_3 >> 0u)), 3u)], 0u, e_3);
    return _e6;
}

Limbs ConstructLimbs(int arg0, int arg1, int arg2, int arg3, int arg4, int arg5, int arg6, int arg7, int arg8, int arg9, int arg10, int arg11, int arg12, int arg13) {
    Limbs ret = (Limbs)0;
    ret.l0_ = arg0;
    ret.l1_ = arg1;
    ret.l2_ = arg2;
    ret.l3_ = arg3;
    ret.l4_ = arg4;
    ret.l5_ = arg5;
    ret.l6_ = arg6;
    ret.l7_ = arg7;
    ret.l8_ = arg8;
    ret.l9_ = arg9;
    ret.l10_ = arg10;
    ret.l11_ = arg11;
    ret.l12_ = arg12;
    ret.l13_ = arg13;
    return ret;
}

Limbs limbs_add(Limbs own_4, int x_5, uint place_2)
{
    uint i_18 = ((place_2 * 2731u) >> 16u);
    uint off_2 = (place_2 - (24u * i_18));
    int low_3 = ((x_5 << off_2) & LIMB);
    int high_2 = (x_5 >> (24u - off_2));
    const Limbs limbs_1 = ConstructLimbs(asint(asuint(own_4.l0_) + asuint(((i_18 == 0u) ? low_3 : int(0)))), asint(asuint(asint(asuint(own_4.l1_) + asuint(((i_18 == 1u) ? low_3 : int(0))))) + asuint(((i_18 == 0u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l2_) + asuint(((i_18 == 2u) ? low_3 : int(0))))) + asuint(((i_18 == 1u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l3_) + asuint(((i_18 == 3u) ? low_3 : int(0))))) + asuint(((i_18 == 2u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l4_) + asuint(((i_18 == 4u) ? low_3 : int(0))))) + asuint(((i_18 == 3u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l5_) + asuint(((i_18 == 5u) ? low_3 : int(0))))) + asuint(((i_18 == 4u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l6_) + asuint(((i_18 == 6u) ? low_3 : int(0))))) + asuint(((i_18 == 5u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l7_) + asuint(((i_18 == 7u) ? low_3 : int(0))))) + asuint(((i_18 == 6u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l8_) + asuint(((i_18 == 8u) ? low_3 : int(0))))) + asuint(((i_18 == 7u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l9_) + asuint(((i_18 == 9u) ? low_3 : int(0))))) + asuint(((i_18 == 8u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l10_) + asuint(((i_18 == 10u) ? low_3 : int(0))))) + asuint(((i_18 == 9u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l11_) + asuint(((i_18 == 11u) ? low_3 : int(0))))) + asuint(((i_18 == 10u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l12_) + asuint(((i_18 == 12u) ? low_3 : int(0))))) + asuint(((i_18 == 11u) ? high_2 : int(0)))), asint(asuint(asint(asuint(own_4.l13_) + asuint(((i_18 == 13u) ? low_3 : int(0))))) + asuint(((i_18 == 12u) ? high_2 : int(0)))));
    return limbs_1;
}

Limbs limbs_carry(Limbs own_5)
{
    Limbs l_1 = (Limbs)0;

    l_1 = own_5;
    int _e3 = l_1.l1_;
    int _e5 = l_1.l0_;
    l_1.l1_ = asint(asuint(_e3) + asuint((_e5 >> 24u)));
    int _e10 = l_1.l0_;
    l_1.l0_ = (_e10 & LIMB);
    int _e14 = l_1.l2_;
    int _e16 = l_1.l1_;
    l_1.l2_ = asint(asuint(_e14) + asuint((_e16 >> 24u)));
    int _e21 = l_1.l1_;
    l_1.l1_ = (_e21 & LIMB);
    int _e25 = l_1.l3_;
    int _e27 = l_1.l2_;
    l_1.l3_ = asint(asuint(_e25) + asuint((_e27 >> 24u)));
    int _e32 = l_1.l2_;
    l_1.l2_ = (_e32 & LIMB);
    int _e36 = l_1.l4_;
    int _e38 = l_1.l3_;
    l_1.l4_ = asint(asuint(_e36) + asuint((_e38 >> 24u)));
    int _e43 = l_1.l3_;
    l_1.l3_ = (_e43 & LIMB);
    int _e47 = l_1.l5_;
    int _e49 = l_1.l4_;
    l_1.l5_ = asint(asuint(_e47) + asuint((_e49 >> 24u)));
    int _e54 = l_1.l4_;
    l_1.l4_ = (_e54 & LIMB);
    int _e58 = l_1.l6_;
    int _e60 = l_1.l5_;
    l_1.l6_ = asint(asuint(_e58) + asuint((_e60 >> 24u)));
    int _e65 = l_1.l5_;
    l_1.l5_ = (_e65 & LIMB);
    int _e69 = l_1.l7_;
    int _e71 = l_1.l6_;
    l_1.l7_ = asint(asuint(_e69) + asuint((_e71 >> 24u)));
    int _e76 = l_1.l6_;
    l_1.l6_ = (_e76 & LIMB);
    int _e80 = l_1.l8_;
    int _e82 = l_1.l7_;
    l_1.l8_ = asint(asuint(_e80) + asuint((_e82 >> 24u)));
    int _e87 = l_1.l7_;
    l_1.l7_ = (_e87 & LIMB);
    int _e91 = l_1.l9_;
    int _e93 = l_1.l8_;
    l_1.l9_ = asint(asuint(_e91) + asuint((_e93 >> 24u)));
    int _e98 = l_1.l8_;
    l_1.l8_ = (_e98 & LIMB);
    int _e102 = l_1.l10_;
    int _e104 = l_1.l9_;
    l_1.l10_ = asint(asuint(_e102) + asuint((_e104 >> 24u)));
    int _e109 = l_1.l9_;
    l_1.l9_ = (_e109 & LIMB);
    int _e113 = l_1.l11_;
    int _e115 = l_1.l10_;
    l_1.l11_ = asint(asuint(_e113) + asuint((_e115 >> 24u)));
    int _e120 = l_1.l10_;
    l_1.l10_ = (_e120 & LIMB);
    int _e124 = l_1.l12_;
    int _e126 = l_1.l11_;
    l_1.l12_ = asint(asuint(_e124) + asuint((_e126 >> 24u)));
    int _e131 = l_1.l11_;
    l_1.l11_ = (_e131 & LIMB);
    int _e135 = l_1.l13_;
    int _e137 = l_1.l12_;
    l_1.l13_ = asint(asuint(_e135) + asuint((_e137 >> 24u)));
    int _e142 = l_1.l12_;
    l_1.l12_ = (_e142 & LIMB);
    Limbs _e145 = l_1;
    const Limbs limbs_2 = _e145;
    return limbs_2;
}

Limbs limbs_here()
{
    int _e2 = limbs[0];
    int _e5 = limbs[1];
    int _e8 = limbs[2];
    int _e11 = limbs[3];
    int _e14 = limbs[4];
    int _e17 = limbs[5];
    int _e20 = limbs[6];
    int _e23 = limbs[7];
    int _e26 = limbs[8];
    int _e29 = limbs[9];
    int _e32 = limbs[10];
    int _e35 = limbs[11];
    int _e38 = limbs[12];
    int _e41 = limbs[13];
    const Limbs limbs_3 = ConstructLimbs(_e2, _e5, _e8, _e11, _e14, _e17, _e20, _e23, _e26, _e29, _e32, _e35, _e38, _e41);
    return limbs_3;
}

void leave_limbs(Limbs l_2)
{
    first_limb = 0u;
    end_limb = 14u;
    limbs[0] = l_2.l0_;
    limbs[1] = l_2.l1_;
    limbs[2] = l_2.l2_;
    limbs[3] = l_2.l3_;
    limbs[4] = l_2.l4_;
    limbs[5] = l_2.l5_;
    limbs[6] = l_2.l6_;
    limbs[7] = l_2.l7_;
    limbs[8] = l_2.l8_;
    limbs[9] = l_2.l9_;
    limbs[10] = l_2.l10_;
    limbs[11] = l_2.l11_;
    limbs[12] = l_2.l12_;
    limbs[13] = l_2.l13_;
    return;
}

Acc acc_one_by_one(Acc own_6, Run run_2, uint first_3, uint end_2, uint column)
{
    Acc a_7 = (Acc)0;
    Limbs l_3 = (Limbs)0;
    uint i_14 = (uint)0;

    a_7 = own_6;
    carry_1();
    const Limbs _e6 = limbs_here();
    l_3 = _e6;
    i_14 = first_3;
    uint2 loop_bound_10 = uint2(4294967295u, 4294967295u);
    while(true) {
        if (all(loop_bound_10 == uint2(0u, 0u))) { break; }
        loop_bound_10 -= uint2(loop_bound_10.y == 0u, 1u);
        uint _e9 = i_14;
        if ((_e9 < end_2)) {
        } else {
            break;
        }
        {
            uint _e11 = i_14;
            uint next = min((_e11 + 15u), end_2);
            uint2 loop_bound_11 = uint2(4294967295u, 4294967295u);
            bool loop_init_9 = true;
            while(true) {
                if (all(loop_bound_11 == uint2(0u, 0u))) { break; }
                loop_bound_11 -= uint2(loop_bound_11.y == 0u, 1u);
                if (!loop_init_9) {
                    uint _e64 = i_14;
                    i_14 = (_e64 + 1u);
                }
                loop_init_9 = false;
                uint _e15 = i_14;
                if ((_e15 < next)) {
                } else {
                    break;
                }
                {
                    uint _e17 = i_14;
                    const uint4 _e18 = run_vec(run_2, _e17);
                    const uint _e20 = run_raw(_e18, 0u);
                    const Number _e21 = number_of(_e20);
                    Limbs _e22 = l_3;
                    const Limbs _e25 = limbs_add(_e22, _e21.x0_, _e21.place);
                    l_3 = _e25;
                    uint _e27 = a_7.flags;
                    const uint _e28 = flag_of(_e20);
                    a_7.flags = (_e27 | _e28);
                    const uint _e31 = run_raw(_e18, 1u);
                    const Number _e32 = number_of(_e31);
                    Limbs _e33 = l_3;
                    const Limbs _e36 = limbs_add(_e33, _e32.x0_, _e32.place);
                    l_3 = _e36;
                    uint _e38 = a_7.flags;
                    const uint _e39 = flag_of(_e31);
                    a_7.flags = (_e38 | _e39);
                    const uint _e42 = run_raw(_e18, 2u);
                    const Number _e43 = number_of(_e42);
                    Limbs _e44 = l_3;
                    const Limbs _e47 = limbs_add(_e44, _e43.x0_, _e43.place);
                    l_3 = _e47;
                    uint _e49 = a_7.flags;
                    const uint _e50 = flag_of(_e42);
                    a_7.flags = (_e49 | _e50);
                    const uint _e53 = run_raw(_e18, 3u);
                    const Number _e54 = number_of(_e53);
                    Limbs _e55 = l_3;
                    const Limbs _e58 = limbs_add(_e55, _e54.x0_, _e54.place);
                    l_3 = _e58;
                    uint _e60 = a_7.flags;
                    const uint _e61 = flag_of(_e53);
                    a_7.flags = (_e60 | _e61);
                }
            }
            Limbs _e66 = l_3;
            const Limbs _e67 = limbs_carry(_e66);
            l_3 = _e67;
        }
    }
    Limbs _e68 = l_3;
    leave_limbs(_e68);
    a_7.takes = 1u;
    Acc _e71 = a_7;
    const Acc acc_5 = _e71;
    return acc_5;
}

Seen ConstructSeen(uint arg0, uint arg1) {
    Seen ret = (Seen)0;
    ret.most = arg0;
    ret.least = arg1;
    return ret;
}

Seen seen(Seen s_1, uint r_6)
{
    const uint _e2 = size_of(r_6);
    const Seen seen_1 = ConstructSeen(max(s_1.most, _e2), min(s_1.least, (_e2 - 1u)));
    return seen_1;
}

Seen seen_vec(Seen own_7, uint4 v_1)
{
    Seen s_2 = (Seen)0;

    s_2 = own_7;
    Seen _e3 = s_2;
    const uint _e5 = run_raw(v_1, 0u);
    const Seen _e6 = seen(_e3, _e5);
    s_2 = _e6;
    Seen _e7 = s_2;
    const uint _e9 = run_raw(v_1, 1u);
    const Seen _e10 = seen(_e7, _e9);
    s_2 = _e10;
    Seen _e11 = s_2;
    const uint _e13 = run_raw(v_1, 2u);
    const Seen _e14 = seen(_e11, _e13);
    s_2 = _e14;
    Seen _e15 = s_2;
    const uint _e17 = run_raw(v_1, 3u);
    const Seen _e18 = seen(_e15, _e17);
    s_2 = _e18;
    Seen _e19 = s_2;
    const Seen seen_2 = _e19;
    return seen_2;
}

bool holds(Frame f, Seen s_3)
{
    bool local_9 = (bool)0;

    if ((s_3.most < f.end)) {
        local_9 = (s_3.least >= f.least);
    } else {
        local_9 = false;
    }
    bool _e11 = local_9;
    return _e11;
}

Frame ConstructFrame(uint arg0, uint arg1, uint arg2) {
    Frame ret = (Frame)0;
    ret.begin = arg0;
    ret.least = arg1;
    ret.end = arg2;
    return ret;
}

Frame frame_of(Seen s_4)
{
    uint top_2 = max((s_4.most >> 23u), 1u);
    uint begin_2 = (max(top_2, 24u) - 24u);
    uint least = ((begin_2 > 0u) ? (((begin_2 + 1u) << 23u) - 1u) : 0u);
    const Frame frame = ConstructFrame(begin_2, least, min(((begin_2 + 26u) << 23u), INFINITE));
    return frame;
}

Window ZeroValueWindow() {
    return (Window)0;
}

Window window_none()
{
    Window w = ZeroValueWindow();

    w.most = asint(2147483648u);
    Window _e5 = w;
    const Window window = _e5;
    return window;
}

Window window_add(Window own_8, uint r_7, uint begin_1)
{
    Window w_1 = (Window)0;

    w_1 = own_8;
    int _e6 = w_1.most;
    w_1.most = max(_e6, asint(r_7));
    const Number _e9 = number(r_7);
    uint off_3 = ((_e9.place - begin_1) & 31u);
    uint down_1 = ((24u - off_3) & 31u);
    int s0_ = ((_e9.x0_ << off_3) & LIMB);
    int s1_ = (_e9.x0_ >> down_1);
    int _e25 = w_1.w0_;
    w_1.w0_ = asint(asuint(_e25) + asuint(s0_));
    int _e28 = w_1.w1_;
    w_1.w1_ = asint(asuint(_e28) + asuint(s1_));
    Window _e30 = w_1;
    const Window window_1 = _e30;
    return window_1;
}

Window window_carry(Window own_9)
{
    Window w_2 = (Window)0;

    w_2 = own_9;
    int _e3 = w_2.w1_;
    int _e5 = w_2.w0_;
    w_2.w1_ = asint(asuint(_e3) + asuint((_e5 >> 24u)));
    int _e10 = w_2.w0_;
    w_2.w0_ = (_e10 & LIMB);
    int _e14 = w_2.w2_;
    int _e16 = w_2.w1_;
    w_2.w2_ = asint(asuint(_e14) + asuint((_e16 >> 24u)));
    int _e21 = w_2.w1_;
    w_2.w1_ = (_e21 & LIMB);
    Window _e24 = w_2;
    const Window window_2 = _e24;
    return window_2;
}

bool window_minus_zeros(Window w_3)
{
    return (w_3.most == asint(2147483648u));
}

Acc acc_window(Acc own_10, Window w_4, uint place_3, uint count)
{
    Acc a_8 = (Acc)0;

    a_8 = own_10;
    add_piece(w_4.w0_, (place_3 + 0u));
    add_piece(w_4.w1_, (place_3 + 24u));
    add_piece(w_4.w2_, (place_3 + 48u));
    uint _e15 = a_8.flags;
    const bool _e19 = window_minus_zeros(w_4);
    a_8.flags = (_e15 | ((count > 0u) ? (_e19 ? MINUS_ZERO : OTHER) : 0u));
    Acc _e25 = a_8;
    const Acc _e26 = took(_e25);
    const Acc acc_6 = _e26;
    return acc_6;
}

Acc acc_run(Acc own_11, Run run_3)
{
    Acc a_9 = (Acc)0;
    uint i_15 = 0u;
    Seen s_5 = ConstructSeen(0u, 4294967295u);
    uint4 v0_ = (uint4)0;
    uint4 v1_ = (uint4)0;
    uint4 v2_ = (uint4)0;
    uint4 v3_ = (uint4)0;
    uint4 v4_ = (uint4)0;
    uint4 v5_ = (uint4)0;
    uint4 v6_ = (uint4)0;
    uint4 v7_ = (uint4)0;
    Window w0_ = (Window)0;

    a_9 = own_11;
    {
        uint first_5 = i_15;
        uint _e10 = i_15;
        const uint4 _e13 = run_vec_or_none(run_3, (_e10 + 0u));
        v0_ = _e13;
        Seen _e15 = s_5;
        uint4 _e16 = v0_;
        const Seen _e17 = seen_vec(_e15, _e16);
        s_5 = _e17;
        uint _e18 = i_15;
        const uint4 _e21 = run_vec_or_none(run_3, (_e18 + 1u));
        v1_ = _e21;
        Seen _e23 = s_5;
        uint4 _e24 = v1_;
        const Seen _e25 = seen_vec(_e23, _e24);
        s_5 = _e25;
        uint _e26 = i_15;
        const uint4 _e29 = run_vec_or_none(run_3, (_e26 + 2u));
        v2_ = _e29;
        Seen _e31 = s_5;
        uint4 _e32 = v2_;
        const Seen _e33 = seen_vec(_e31, _e32);
        s_5 = _e33;
        uint _e34 = i_15;
        const uint4 _e37 = run_vec_or_none(run_3, (_e34 + 3u));
        v3_ = _e37;
        Seen _e39 = s_5;
        uint4 _e40 = v3_;
        const Seen _e41 = seen_vec(_e39, _e40);
        s_5 = _e41;
        uint _e42 = i_15;
        const uint4 _e45 = run_vec_or_none(run_3, (_e42 + 4u));
        v4_ = _e45;
        Seen _e47 = s_5;
        uint4 _e48 = v4_;
        const Seen _e49 = seen_vec(_e47, _e48);
        s_5 = _e49;
        uint _e50 = i_15;
        const uint4 _e53 = run_vec_or_none(run_3, (_e50 + 5u));
        v5_ = _e53;
        Seen _e55 = s_5;
        uint4 _e56 = v5_;
        const Seen _e57 = seen_vec(_e55, _e56);
        s_5 = _e57;
        uint _e58 = i_15;
        const uint4 _e61 = run_vec_or_none(run_3, (_e58 + 6u));
        v6_ = _e61;
        Seen _e63 = s_5;
        uint4 _e64 = v6_;
        const Seen _e65 = seen_vec(_e63, _e64);
        s_5 = _e65;
        uint _e66 = i_15;
        const uint4 _e69 = run_vec_or_none(run_3, (_e66 + 7u));
        v7_ = _e69;
        Seen _e71 = s_5;
        uint4 _e72 = v7_;
        const Seen _e73 = seen_vec(_e71, _e72);
        s_5 = _e73;
        Seen _e74 = s_5;
        const Frame _e75 = frame_of(_e74);
        Seen _e76 = s_5;
        const bool _e77 = holds(_e75, _e76);
        if (_e77) {
            const Window _e78 = window_none();
            w0_ = _e78;
            uint2 loop_bound_12 = uint2(4294967295u, 4294967295u);
            while(true) {
                if (all(loop_bound_12 == uint2(0u, 0u))) { break; }
                loop_bound_12 -= uint2(loop_bound_12.y == 0u, 1u);
                Window _e80 = w0_;
                uint4 _e81 = v0_;
                const uint _e83 = run_raw(_e81, 0u);
                const Window _e85 = window_add(_e80, _e83, _e75.begin);
                w0_ = _e85;
                Window _e86 = w0_;
                uint4 _e87 = v0_;
                const uint _e89 = run_raw(_e87, 1u);
                const Window _e91 = window_add(_e86, _e89, _e75.begin);
                w0_ = _e91;
                Window _e92 = w0_;
                uint4 _e93 = v0_;
                const uint _e95 = run_raw(_e93, 2u);
                const Window _e97 = window_add(_e92, _e95, _e75.begin);
                w0_ = _e97;
                Window _e98 = w0_;
                uint4 _e99 = v0_;
                const uint _e101 = run_raw(_e99, 3u);
                const Window _e103 = window_add(_e98, _e101, _e75.begin);
                w0_ = _e103;
                Window _e104 = w0_;
                uint4 _e105 = v1_;
                const uint _e107 = run_raw(_e105, 0u);
                const Window _e109 = window_add(_e104, _e107, _e75.begin);
                w0_ = _e109;
                Window _e110 = w0_;
                uint4 _e111 = v1_;
                const uint _e113 = run_raw(_e111, 1u);
                const Window _e115 = window_add(_e110, _e113, _e75.begin);
                w0_ = _e115;
                Window _e116 = w0_;
                uint4 _e117 = v1_;
                const uint _e119 = run_raw(_e117, 2u);
                const Window _e121 = window_add(_e116, _e119, _e75.begin);
                w0_ = _e121;
                Window _e122 = w0_;
                uint4 _e123 = v1_;
                const uint _e125 = run_raw(_e123, 3u);
                const Window _e127 = window_add(_e122, _e125, _e75.begin);
                w0_ = _e127;
                Window _e128 = w0_;
                uint4 _e129 = v2_;
                const uint _e131 = run_raw(_e129, 0u);
                const Window _e133 = window_add(_e128, _e131, _e75.begin);
                w0_ = _e133;
                Window _e134 = w0_;
                uint4 _e135 = v2_;
                const uint _e137 = run_raw(_e135, 1u);
                const Window _e139 = window_add(_e134, _e137, _e75.begin);
                w0_ = _e139;
                Window _e140 = w0_;
                uint4 _e141 = v2_;
                const uint _e143 = run_raw(_e141, 2u);
                const Window _e145 = window_add(_e140, _e143, _e75.begin);
                w0_ = _e145;
                Window _e146 = w0_;
                uint4 _e147 = v2_;
                const uint _e149 = run_raw(_e147, 3u);
                const Window _e151 = window_add(_e146, _e149, _e75.begin);
                w0_ = _e151;
                Window _e152 = w0_;
                uint4 _e153 = v3_;
                const uint _e155 = run_raw(_e153, 0u);
                const Window _e157 = window_add(_e152, _e155, _e75.begin);
                w0_ = _e157;
                Window _e158 = w0_;
                uint4 _e159 = v3_;
                const uint _e161 = run_raw(_e159, 1u);
                const Window _e163 = window_add(_e158, _e161, _e75.begin);
                w0_ = _e163;
                Window _e164 = w0_;
                uint4 _e165 = v3_;
                const uint _e167 = run_raw(_e165, 2u);
                const Window _e169 = window_add(_e164, _e167, _e75.begin);
                w0_ = _e169;
                Window _e170 = w0_;
                uint4 _e171 = v3_;
                const uint _e173 = run_raw(_e171, 3u);
                const Window _e175 = window_add(_e170, _e173, _e75.begin);
                w0_ = _e175;
                Window _e176 = w0_;
                uint4 _e177 = v4_;
                const uint _e179 = run_raw(_e177, 0u);
                const Window _e181 = window_add(_e176, _e179, _e75.begin);
                w0_ = _e181;
                Window _e182 = w0_;
                uint4 _e183 = v4_;
                const uint _e185 = run_raw(_e183, 1u);
                const Window _e187 = window_add(_e182, _e185, _e75.begin);
                w0_ = _e187;
                Window _e188 = w0_;
                uint4 _e189 = v4_;
                const uint _e191 = run_raw(_e189, 2u);
                const Window _e193 = window_add(_e188, _e191, _e75.begin);
                w0_ = _e193;
                Window _e194 = w0_;
                uint4 _e195 = v4_;
                const uint _e197 = run_raw(_e195, 3u);
                const Window _e199 = window_add(_e194, _e197, _e75.begin);
                w0_ = _e199;
                Window _e200 = w0_;
                uint4 _e201 = v5_;
                const uint _e203 = run_raw(_e201, 0u);
                const Window _e205 = window_add(_e200, _e203, _e75.begin);
                w0_ = _e205;
                Window _e206 = w0_;
                uint4 _e207 = v5_;
                const uint _e209 = run_raw(_e207, 1u);
                const Window _e211 = window_add(_e206, _e209, _e75.begin);
                w0_ = _e211;
                Window _e212 = w0_;
                uint4 _e213 = v5_;
                const uint _e215 = run_raw(_e213, 2u);
                const Window _e217 = window_add(_e212, _e215, _e75.begin);
                w0_ = _e217;
                Window _e218 = w0_;
                uint4 _e219 = v5_;
                const uint _e221 = run_raw(_e219, 3u);
                const Window _e223 = window_add(_e218, _e221, _e75.begin);
                w0_ = _e223;
                Window _e224 = w0_;
                uint4 _e225 = v6_;
                const uint _e227 = run_raw(_e225, 0u);
                const Window _e229 = window_add(_e224, _e227, _e75.begin);
                w0_ = _e229;
                Window _e230 = w0_;
                uint4 _e231 = v6_;
                const uint _e233 = run_raw(_e231, 1u);
                const Window _e235 = window_add(_e230, _e233, _e75.begin);
                w0_ = _e235;
                Window _e236 = w0_;
                uint4 _e237 = v6_;
                const uint _e239 = run_raw(_e237, 2u);
                const Window _e241 = window_add(_e236, _e239, _e75.begin);
                w0_ = _e241;
                Window _e242 = w0_;
                uint4 _e243 = v6_;
                const uint _e245 = run_raw(_e243, 3u);
                const Window _e247 = window_add(_e242, _e245, _e75.begin);
                w0_ = _e247;
                Window _e248 = w0_;
                uint4 _e249 = v7_;
                const uint _e251 = run_raw(_e249, 0u);
                const Window _e253 = window_add(_e248, _e251, _e75.begin);
                w0_ = _e253;
                Window _e254 = w0_;
                uint4 _e255 = v7_;
                const uint _e257 = run_raw(_e255, 1u);
                const Window _e259 = window_add(_e254, _e257, _e75.begin);
                w0_ = _e259;
                Window _e260 = w0_;
                uint4 _e261 = v7_;
                const uint _e263 = run_raw(_e261, 2u);
                const Window _e265 = window_add(_e260, _e263, _e75.begin);
                w0_ = _e265;
                Window _e266 = w0_;
                uint4 _e267 = v7_;
                const uint _e269 = run_raw(_e267, 3u);
                const Window _e271 = window_add(_e266, _e269, _e75.begin);
                w0_ = _e271;
                Window _e272 = w0_;
                const Window _e273 = window_carry(_e272);
                w0_ = _e273;
                uint _e274 = i_15;
                i_15 = (_e274 + 8u);
                break;
            }
            uint _e277 = i_15;
            uint count_1 = (min(_e277, run_3.count) - first_5);
            Acc _e281 = a_9;
            Window _e282 = w0_;
            const Acc _e288 = acc_window(_e281, _e282, (_e75.begin * 1u), (count_1 * 4u));
            a_9 = _e288;
        } else {
            uint _e289 = i_15;
            i_15 = min((_e289 + 64u), run_3.count);
            Acc _e294 = a_9;
            uint _e295 = i_15;
            const Acc _e297 = acc_one_by_one(_e294, run_3, first_5, _e295, 0u);
            a_9 = _e297;
        }
    }
    Acc _e298 = a_9;
    const Acc acc_7 = _e298;
    return acc_7;
}

Acc reduced(uint item_1, uint lid_2)
{
    Acc a_10 = (Acc)0;
    uint i_16 = (uint)0;

    uint _e4 = P.src_delta;
    uint _e7 = P.slices;
    uint _e11 = P.len;
    uint origin_1 = (_e4 + (naga_div(item_1, _e7) * _e11));
    const Span _e14 = item_span(item_1);
    const Acc _e16 = acc_none(0u);
    const Run _e19 = run_of(_e14, naga_mod(lid_2, LANES), origin_1);
    const Acc _e20 = acc_run(_e16, _e19);
    a_10 = _e20;
    uint head = (min((_e14.first * E), _e14.end) - _e14.begin);
    uint edges = ((head + max((_e14.last * E), _e14.end)) - (_e14.last * E));
    i_16 = naga_mod(lid_2, LANES);
    uint2 loop_bound_13 = uint2(4294967295u, 4294967295u);
    bool loop_init_10 = true;
    while(true) {
        if (all(loop_bound_13 == uint2(0u, 0u))) { break; }
        loop_bound_13 -= uint2(loop_bound_13.y == 0u, 1u);
        if (!loop_init_10) {
            uint _e60 = i_16;
            i_16 = (_e60 + LANES);
        }
        loop_init_10 = false;
        uint _e42 = i_16;
        if ((_e42 < edges)) {
        } else {
            break;
        }
        {
            uint _e47 = i_16;
            uint _e51 = i_16;
            uint _e53 = i_16;
            uint e_4 = ((_e53 < head) ? (_e14.begin + _e51) : (((_e14.last * E) + _e47) - head));
            Acc _e56 = a_10;
            const uint _e57 = raw(e_4);
            const Acc _e59 = acc_take(_e56, _e57, (e_4 - origin_1));
            a_10 = _e59;
        }
    }
    Acc _e63 = a_10;
    const Acc acc_8 = _e63;
    return acc_8;
}

void take(uint item_2, uint lid_3)
{
    Acc a_11 = (Acc)0;
    bool local_10 = (bool)0;

    uint _e4 = P.items;
    const Acc _e8 = reduced(min(item_2, (_e4 - 1u)), lid_3);
    a_11 = _e8;
    Acc _e10 = a_11;
    const Acc _e11 = acc_across(lid_3, _e10);
    a_11 = _e11;
    if ((naga_mod(lid_3, LANES) == 0u)) {
        uint _e20 = P.items;
        local_10 = (item_2 < _e20);
    } else {
        local_10 = false;
    }
    bool _e23 = local_10;
    if (_e23) {
        Acc _e24 = a_11;
        acc_emit(item_2, _e24);
        return;
    } else {
        return;
    }
}

[numthreads(256, 1, 1)]
void rows(uint3 group : SV_GroupID, uint lid : SV_GroupIndex)
{
    uint i = 0u;

    const uint _e2 = linear_(group);
    uint first_6 = ((_e2 * 16u) + naga_div(lid, LANES));
    if (true) {
        take(first_6, lid);
        return;
    }
    uint2 loop_bound_14 = uint2(4294967295u, 4294967295u);
    bool loop_init_11 = true;
    while(true) {
        if (all(loop_bound_14 == uint2(0u, 0u))) { break; }
        loop_bound_14 -= uint2(loop_bound_14.y == 0u, 1u);
        if (!loop_init_11) {
            uint _e30 = i;
            i = (_e30 + 1u);
        }
        loop_init_11 = false;
        uint _e18 = i;
        uint _e21 = P.width;
        if ((_e18 < _e21)) {
        } else {
            break;
        }
        {
            uint _e25 = P.width;
            uint _e27 = i;
            take(((first_6 * _e25) + _e27), lid);
        }
    }
    return;
}
