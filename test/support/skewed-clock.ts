// Loaded before a node (NODE_OPTIONS=--import): its date is wrong by TEST_CLOCK_AHEAD_MS; durations are right.

const aheadMs = Number(process.env['TEST_CLOCK_AHEAD_MS'] ?? 0)
const RightDate = Date

class WrongDate extends RightDate {
  constructor(...given: [] | [string | number | Date]) {
    if (given.length === 0) super(RightDate.now() + aheadMs)
    else super(...given)
  }

  static override now(): number {
    return RightDate.now() + aheadMs
  }
}

globalThis.Date = new Proxy(WrongDate, {
  construct: (_target, given, made) =>
    given.length < 2 ? Reflect.construct(WrongDate, given, made) : Reflect.construct(RightDate, given, made),
  apply: () => new WrongDate().toString(),
}) as DateConstructor
