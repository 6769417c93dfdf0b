//! DXC, the compiler for DirectX 12's shader model 6, loaded from its shared library.
//!
//! COM objects are called through their tables of functions, with the places of `dxcapi.h`.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::{null, null_mut};

/// A COM object begins with a pointer to its table of functions.
type Object = *mut *const *const c_void;
type Guid = [u8; 16];

const COMPILER: Guid = guid(0x73e22d93_e6ce_47f3_b5bf_f0664f39c1b0);
const ICOMPILER3: Guid = guid(0x228b4687_5a6a_4730_900c_9702b2203f54);
const IRESULT: Guid = guid(0x58346cda_dde7_4497_9461_6f87af5e0659);

/// The bytes of a GUID as it is written, whose first three numbers are stored little-endian.
const fn guid(written: u128) -> Guid {
    let [a, b, c, d, e, f, g, h, ..] = written.to_be_bytes();
    let [.., i, j, k, l, m, n, o, p] = written.to_be_bytes();
    [d, c, b, a, f, e, h, g, i, j, k, l, m, n, o, p]
}

/// The source text to compile: `DxcBuffer`.
#[repr(C)]
struct Buffer {
    text: *const u8,
    bytes: usize,
    encoding: u32,
}
const UTF8: u32 = 65001;

type Create = unsafe extern "C" fn(*const Guid, *const Guid, *mut Object) -> i32;
type Compile = unsafe extern "C" fn(
    Object,
    *const Buffer,
    *const *const u32,
    u32,
    *const c_void,
    *const Guid,
    *mut Object,
) -> i32;
type Status = unsafe extern "C" fn(Object, *mut i32) -> i32;
type Blob = unsafe extern "C" fn(Object, *mut Object) -> i32;
type Pointer = unsafe extern "C" fn(Object) -> *const u8;
type Size = unsafe extern "C" fn(Object) -> usize;
type Release = unsafe extern "C" fn(Object) -> u32;

/// A COM object that is released when it is dropped.
struct Owned(Object);

impl Owned {
    /// The function at a place in the object's table.
    ///
    /// # Safety
    /// `F` is the type of that function.
    unsafe fn function<F>(&self, place: usize) -> F {
        // SAFETY: a live object's table holds pointers to functions, and F is one by contract.
        unsafe { std::mem::transmute_copy(&*(*self.0).add(place)) }
    }

    /// The bytes of the blob that a function of a result returns.
    fn bytes(&self, place: usize) -> Vec<u8> {
        let mut blob = null_mut();
        // SAFETY: `GetResult` (4) and `GetErrorBuffer` (5) are `Blob`s, and a blob's functions 3
        // and 4 tell where its bytes are and how many; they are copied before it is released.
        unsafe {
            self.function::<Blob>(place)(self.0, &mut blob);
            if blob.is_null() {
                return Vec::new();
            }
            let blob = Owned(blob);
            let size = blob.function::<Size>(4)(blob.0);
            if size == 0 {
                return Vec::new();
            }
            let start = blob.function::<Pointer>(3)(blob.0);
            std::slice::from_raw_parts(start, size).to_vec()
        }
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: function 2 of every COM object is `Release`; nothing uses the object after it.
        unsafe { self.function::<Release>(2)(self.0) };
    }
}

/// A compiler, for one thread.
pub struct Dxc {
    compiler: Owned,
    // Dropped last: the compiler's code is in it.
    _library: libloading::Library,
}

impl Dxc {
    pub fn load(path: &Path) -> Result<Dxc, String> {
        let failed = |e: libloading::Error| format!("{}: {e}", path.display());
        // SAFETY: it is DXC's library, whose initialisers have no requirements.
        let library = unsafe { libloading::Library::new(path) }.map_err(failed)?;
        let mut compiler = null_mut();
        // SAFETY: `DxcCreateInstance` is declared so in dxcapi.h.
        let code = unsafe {
            let create = library
                .get::<Create>(b"DxcCreateInstance")
                .map_err(failed)?;
            create(&COMPILER, &ICOMPILER3, &mut compiler)
        };
        if code != 0 || compiler.is_null() {
            return Err(format!("{}: no compiler: {code:#x}", path.display()));
        }
        Ok(Dxc {
            compiler: Owned(compiler),
            _library: library,
        })
    }

    /// Compiles HLSL to DXIL with wgpu's own arguments and `more`, where `-spirv` asks for SPIR-V.
    pub fn compile(&self, text: &str, entry: &str, more: &str) -> Result<Vec<u8>, String> {
        let arguments = format!("-E {entry} -T cs_6_0 -HV 2018 -no-warnings -Ges {more}");
        // A wide character has four bytes except on Windows.
        let wide = |a: &str| a.chars().map(u32::from).chain([0]).collect::<Vec<u32>>();
        let wide: Vec<Vec<u32>> = arguments.split_whitespace().map(wide).collect();
        let arguments: Vec<*const u32> = wide.iter().map(|a| a.as_ptr()).collect();
        let buffer = Buffer {
            text: text.as_ptr(),
            bytes: text.len(),
            encoding: UTF8,
        };
        let mut result = null_mut();
        let mut status = -1;
        // SAFETY: `Compile` is function 3 of IDxcCompiler3 and `GetStatus` function 3 of
        // IDxcResult; text and arguments outlive the calls.
        unsafe {
            let compile = self.compiler.function::<Compile>(3);
            let count = arguments.len() as u32;
            let code = compile(
                self.compiler.0,
                &buffer,
                arguments.as_ptr(),
                count,
                null(),
                &IRESULT,
                &mut result,
            );
            if code != 0 || result.is_null() {
                return Err(format!("DXC failed: {code:#x}"));
            }
            let result = Owned(result);
            result.function::<Status>(3)(result.0, &mut status);
            match status {
                0 => Ok(result.bytes(4)),
                _ => Err(String::from_utf8_lossy(&result.bytes(5)).into_owned()),
            }
        }
    }
}
