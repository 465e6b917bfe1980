! Joules of the parts of a Fortran program, by joulemap's C interface. Without a GPU, JOULEMAP_SIM=h200 simulates one.
!
!     gfortran parts.f90 $(pkg-config --libs joulemap) -o parts
!     JOULEMAP_SIM=h200 ./parts
!
! Not installed under /usr? PKG_CONFIG_PATH=$(joulemap --pkgconfigdir)

! The needed parts of joulemap/span.h and report.h. Under `joulemap record` a program needs only begin_span and
! end_span.
module joulemap
  use, intrinsic :: iso_c_binding
  implicit none
  private
  public :: begin_span, end_span, start_run, print_report, now_ns
  ! jm_span_kind, in the order of JM_SPAN_KIND_MAP
  integer(c_int), parameter, public :: phase = 1, step = 3, forward = 5, backward = 6

  interface
    function jm_name_intern(text) bind(c) result(number)
      import :: c_char, c_int32_t
      character(kind=c_char), intent(in) :: text(*)
      integer(c_int32_t) :: number
    end function
    function jm_span_begin(kind, name, class, samples) bind(c) result(span)
      import :: c_int, c_int32_t, c_int64_t
      integer(c_int), value :: kind
      integer(c_int32_t), value :: name, class, samples
      integer(c_int64_t) :: span
    end function
    subroutine jm_span_end(span) bind(c)
      import :: c_int64_t
      integer(c_int64_t), value :: span
    end subroutine
    function jm_now_ns() bind(c) result(t_ns)
      import :: c_int64_t
      integer(c_int64_t) :: t_ns
    end function
    ! With options NULL the run is in memory, and has the spans of this process, but no kernels.
    function jm_run_start(run, options, err) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: run
      type(c_ptr), value :: options, err
      integer(c_int) :: status
    end function
    function jm_run_flush(run, timeout_ms, err) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: run, err
      integer(c_int), value :: timeout_ms
      integer(c_int) :: status
    end function
    function jm_run_recording(run, recording, err) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: run, err
      type(c_ptr), intent(out) :: recording
      integer(c_int) :: status
    end function
    function jm_report_create(report, recording, options, err) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), intent(out) :: report
      type(c_ptr), value :: recording, options, err
      integer(c_int) :: status
    end function
    function jm_report_text(report, options, text, err) bind(c) result(status)
      import :: c_ptr, c_int
      type(c_ptr), value :: report, options, err
      type(c_ptr), intent(out) :: text
      integer(c_int) :: status
    end function
    subroutine jm_report_free(report) bind(c)
      import :: c_ptr
      type(c_ptr), value :: report
    end subroutine
    subroutine jm_run_free(run) bind(c)
      import :: c_ptr
      type(c_ptr), value :: run
    end subroutine
    function jm_status_text(status) bind(c) result(text)
      import :: c_ptr, c_int
      integer(c_int), value :: status
      type(c_ptr) :: text
    end function
    function strlen(text) bind(c) result(length)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: length
    end function
    subroutine free(memory) bind(c)
      import :: c_ptr
      type(c_ptr), value :: memory
    end subroutine
  end interface

contains

  ! A part: its name is its path in the report, its class is common to all its calls.
  function begin_span(kind, name, class) result(span)
    integer(c_int), intent(in) :: kind
    character(*), intent(in) :: name
    character(*), intent(in), optional :: class
    integer(c_int64_t) :: span
    integer(c_int32_t) :: number
    number = 0
    if (present(class)) number = jm_name_intern(class//c_null_char)
    span = jm_span_begin(kind, jm_name_intern(name//c_null_char), number, merge(1_c_int32_t, 0_c_int32_t, kind == step))
  end function

  subroutine end_span(span)
    integer(c_int64_t), intent(in) :: span
    call jm_span_end(span)
  end subroutine

  function now_ns() result(t_ns)
    integer(c_int64_t) :: t_ns
    t_ns = jm_now_ns()
  end function

  ! The text of a C string.
  function text_of(c_text) result(text)
    type(c_ptr), intent(in) :: c_text
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    call c_f_pointer(c_text, letters, [strlen(c_text)])
    allocate (character(size(letters)) :: text)
    do i = 1, size(letters)
      text(i:i) = letters(i)
    end do
  end function

  subroutine check(status)
    integer(c_int), intent(in) :: status
    if (status == 0) return
    print '(2a)', 'joulemap: ', text_of(jm_status_text(status))
    error stop 1
  end subroutine

  function start_run() result(run)
    type(c_ptr) :: run
    call check(jm_run_start(run, c_null_ptr, c_null_ptr))
  end function

  ! Stop the run and print its report.
  subroutine print_report(run)
    type(c_ptr), intent(in) :: run
    type(c_ptr) :: recording, report, text
    call check(jm_run_flush(run, 2000_c_int, c_null_ptr))
    call check(jm_run_recording(run, recording, c_null_ptr))
    call check(jm_report_create(report, recording, c_null_ptr, c_null_ptr))
    call check(jm_report_text(report, c_null_ptr, text, c_null_ptr))
    print '(a)', text_of(text)
    call free(text)
    call jm_report_free(report)
    call jm_run_free(run)
  end subroutine
end module

program parts
  use joulemap
  use, intrinsic :: iso_c_binding
  implicit none
  type(c_ptr) :: run
  integer(c_int64_t) :: turn, part
  integer :: i

  run = start_run()
  do i = 1, 60
    turn = begin_span(step, 'step')
    part = begin_span(forward, 'solver.assemble', 'Assemble')
    call work(5000000_c_int64_t + 100000_c_int64_t * mod(i, 20))
    call end_span(part)
    part = begin_span(forward, 'solver.factor', 'Factor')
    call work(30000000_c_int64_t)
    call end_span(part)
    call end_span(turn)
  end do
  call print_report(run)

contains

  ! A placeholder for work: launching kernels, waiting for results.
  subroutine work(nanoseconds)
    integer(c_int64_t), intent(in) :: nanoseconds
    integer(c_int64_t) :: end_ns
    end_ns = now_ns() + nanoseconds
    do while (now_ns() < end_ns)
    end do
  end subroutine
end program
