// Loaded before a node (NODE_OPTIONS=--import): its date is wrong by TEST_CLOCK_AHEAD_MS; durations are right. Every
// TEST_CLOCK_JUMP_EVERY_MS it jumps from as much ahead to as much behind, or back.

const mostMs = Number(process.env['TEST_CLOCK_AHEAD_MS'] ?? 0)
const everyMs = Number(process.env['TEST_CLOCK_JUMP_EVERY_MS'] ?? Infinity)
const RightDate = Date
const aheadMs = () => (Math.floor(RightDate.now() / everyMs) % 2 === 0 ? mostMs : -mostMs)

class WrongDate extends RightDate {
  constructor(...given: [] | [string | number | Date]) {
    if (given.length === 0) super(RightDate.now() + aheadMs())
    else super(...given)
  }

  static override now(): number {
    return RightDate.now() + aheadMs()
  }
}

globalThis.Date = new Proxy(WrongDate, {
  construct: (_target, given, made) =>
    given.length < 2 ? Reflect.construct(WrongDate, given, made) : Reflect.construct(RightDate, given, made),
  apply: () => new WrongDate().toString(),
}) as DateConstructor
