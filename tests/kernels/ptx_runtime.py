"""Memory and threads of an emulated launch, as LLVM IR; see `ptx_emulator`."""

# The report: of a fault; steps of a thread, of all threads, and their limit; number and
# bounds of the arrays; marks of what is written in local memory, and its size; place and
# size of the workspace, the threads that own its bytes, and the present thread, from 1.
_NUMBERS = "i32 %tid, i32 %ctaid, i32 %block, i32 %grid"
_REPORT = "{ i64, i64, i64, i64, i64, i64, i64, ptr, ptr, i64, i64, i64, ptr, i64 }"
FIELDS = (
    "fault", "address", "bytes", "steps", "total", "limit", "arrays", "bounds", "marks",
    "local", "work", "size", "owners", "owner",
)  # fmt: skip
POINTERS = "bounds", "marks", "owners"


def _field(name: str) -> str:
    kind = "ptr" if name in POINTERS else "i64"
    place = FIELDS.index(name)
    return f"""%{name}.p = getelementptr {_REPORT}, ptr %report, i32 0, i32 {place}
%{name} = load {kind}, ptr %{name}.p"""


RUNTIME = f"""
@nowhere = internal global [32 x i8] zeroinitializer, align 32
define internal void @fail(ptr %report, i64 %fault.new, i64 %a, i64 %n) {{
{_field("fault")}
{_field("address")}
{_field("bytes")}
%first = icmp eq i64 %fault, 0
br i1 %first, label %tell, label %end
tell:
store i64 %fault.new, ptr %fault.p
store i64 %a, ptr %address.p
store i64 %n, ptr %bytes.p
br label %end
end:
ret void
}}
define internal void @count(ptr %report, i64 %n) alwaysinline {{
{_field("steps")}
%more = add i64 %steps, %n
store i64 %more, ptr %steps.p
ret void
}}
define internal i1 @going(ptr %report) alwaysinline {{
{_field("fault")}
{_field("steps")}
{_field("limit")}
%few = icmp ule i64 %steps, %limit
%well = icmp eq i64 %fault, 0
%r = and i1 %few, %well
ret i1 %r
}}
define internal i1 @inside(i64 %a, i64 %n, ptr %report) {{
entry:
{_field("arrays")}
{_field("bounds")}
%last = add i64 %a, %n
br label %next
next:
%k = phi i64 [ 0, %entry ], [ %after, %one ]
%more = icmp ult i64 %k, %arrays
br i1 %more, label %one, label %end
one:
%twice = mul i64 %k, 2
%lo.p = getelementptr i64, ptr %bounds, i64 %twice
%hi.p = getelementptr i64, ptr %lo.p, i64 1
%lo = load i64, ptr %lo.p
%hi = load i64, ptr %hi.p
%above = icmp uge i64 %a, %lo
%below = icmp ule i64 %last, %hi
%within = and i1 %above, %below
%after = add i64 %k, 1
br i1 %within, label %end, label %next
end:
%r = phi i1 [ false, %next ], [ true, %one ]
ret i1 %r
}}
define internal i1 @owned(i64 %a, i64 %n, ptr %report) {{
entry:
{_field("work")}
{_field("size")}
{_field("owners")}
{_field("owner")}
%offset = sub i64 %a, %work
%there = icmp ult i64 %offset, %size
br i1 %there, label %next, label %good
next:
%k = phi i64 [ 0, %entry ], [ %after, %take ]
%more = icmp ult i64 %k, %n
br i1 %more, label %one, label %good
one:
%place = add i64 %offset, %k
%owner.at = getelementptr i64, ptr %owners, i64 %place
%before = load i64, ptr %owner.at
%free = icmp eq i64 %before, 0
%same = icmp eq i64 %before, %owner
%right = or i1 %free, %same
br i1 %right, label %take, label %bad
take:
store i64 %owner, ptr %owner.at
%after = add i64 %k, 1
br label %next
good:
ret i1 true
bad:
ret i1 false
}}
define internal ptr @access(i64 %a, i64 %n, ptr %report, i64 %place, i64 %kind) {{
entry:
%mask = sub i64 %n, 1
%odd = and i64 %a, %mask
%aligned = icmp eq i64 %odd, 0
br i1 %aligned, label %where, label %misaligned
misaligned:
call void @fail(ptr %report, i64 3, i64 %a, i64 %n)
ret ptr @nowhere
where:
{_field("local")}
{_field("marks")}
%offset = sub i64 %a, %place
%last = add i64 %offset, %n
%low = icmp ult i64 %offset, %local
%high = icmp ule i64 %last, %local
%own = and i1 %low, %high
br i1 %own, label %mine, label %others
others:
%within = call i1 @inside(i64 %a, i64 %n, ptr %report)
br i1 %within, label %whose, label %bad
bad:
call void @fail(ptr %report, i64 %kind, i64 %a, i64 %n)
ret ptr @nowhere
whose:
%owned = call i1 @owned(i64 %a, i64 %n, ptr %report)
br i1 %owned, label %good, label %foreign
foreign:
call void @fail(ptr %report, i64 6, i64 %a, i64 %n)
ret ptr @nowhere
mine:
%mark = getelementptr i8, ptr %marks, i64 %offset
%stores = icmp eq i64 %kind, 2
br i1 %stores, label %set, label %test
set:
call void @llvm.memset.p0.i64(ptr %mark, i8 1, i64 %n, i1 false)
br label %good
test:
%gap = call ptr @memchr(ptr %mark, i32 0, i64 %n)
%whole = icmp eq ptr %gap, null
br i1 %whole, label %good, label %unset
unset:
call void @fail(ptr %report, i64 4, i64 %offset, i64 %n)
ret ptr @nowhere
good:
%r = inttoptr i64 %a to ptr
ret ptr %r
}}
declare ptr @memchr(ptr, i32, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define internal ptr @source(i64 %a, i64 %n, ptr %report, i64 %place) {{
%r = call ptr @access(i64 %a, i64 %n, ptr %report, i64 %place, i64 1)
ret ptr %r
}}
define internal ptr @target(i64 %a, i64 %n, ptr %report, i64 %place) {{
%r = call ptr @access(i64 %a, i64 %n, ptr %report, i64 %place, i64 2)
ret ptr %r
}}
define void @launch(ptr %params, ptr %report, i64 %place, i32 %grid, i32 %block) {{
entry:
br label %next
next:
%ctaid = phi i32 [ 0, %entry ], [ %ctaid, %one ], [ %following, %turn ]
%tid = phi i32 [ 0, %entry ], [ %after, %one ], [ 0, %turn ]
%more = icmp ult i32 %tid, %block
br i1 %more, label %run, label %turn
turn:
%following = add i32 %ctaid, 1
%another = icmp ult i32 %following, %grid
br i1 %another, label %next, label %end
run:
{_field("steps")}
{_field("marks")}
{_field("local")}
{_field("owner")}
%one.more = add i64 %owner, 1
store i64 %one.more, ptr %owner.p
store i64 0, ptr %steps.p
call void @llvm.memset.p0.i64(ptr %marks, i8 0, i64 %local, i1 false)
call void @thread(ptr %params, ptr %report, i64 %place, {_NUMBERS})
%taken = load i64, ptr %steps.p
{_field("total")}
%all = add i64 %total, %taken
store i64 %all, ptr %total.p
{_field("limit")}
%endless = icmp ugt i64 %taken, %limit
br i1 %endless, label %stop, label %one
stop:
%lane = zext i32 %tid to i64
call void @fail(ptr %report, i64 5, i64 %lane, i64 0)
br label %one
one:
{_field("fault")}
%after = add i32 %tid, 1
%well = icmp eq i64 %fault, 0
br i1 %well, label %next, label %end
end:
ret void
}}
"""
