import type { Settings } from '../../api/types.ts'

/** Whom the site sees when it is rendered, as people edit it; an empty field: as everywhere. */
export type VisitorForm = {
  userAgent: string
  width: number | string
  height: number | string
  locale: string
  timeZone: string
}

const SIDE = { min: 200, max: 4_000 }

export function visitorFormOf({ user_agent, viewport, locale, time_zone }: Settings['render']): VisitorForm {
  return {
    userAgent: user_agent ?? '',
    width: viewport?.width ?? '',
    height: viewport?.height ?? '',
    locale: locale ?? '',
    timeZone: time_zone ?? '',
  }
}

export function visitorOf({ userAgent, width, height, locale, timeZone }: VisitorForm): Settings['render'] {
  return {
    ...(userAgent.trim() !== '' && { user_agent: userAgent.trim() }),
    ...(width !== '' && height !== '' && { viewport: { width: Number(width), height: Number(height) } }),
    ...(locale.trim() !== '' && { locale: locale.trim() }),
    ...(timeZone.trim() !== '' && { time_zone: timeZone.trim() }),
  }
}

export function visitorProblems(form: VisitorForm): Record<string, string | null> {
  const { userAgent, width, height, locale, timeZone } = form
  return {
    'visitor.userAgent':
      userAgent.length > 500
        ? 'At most 500 characters'
        : /^[\x20-\x7e]*$/.test(userAgent)
          ? null
          : 'Only printable ASCII',
    'visitor.width': sideProblem(width, height),
    'visitor.height': sideProblem(height, width),
    'visitor.locale':
      locale.trim() === '' || /^[a-z]{2,3}(-[a-z0-9]{2,8})*$/i.test(locale.trim())
        ? null
        : 'A language tag, such as de-CH',
    'visitor.timeZone': isZone(timeZone.trim()) ? null : 'A time zone, such as Europe/Zurich',
  }
}

function sideProblem(side: number | string, other: number | string): string | null {
  if (side === '') return other === '' ? null : 'Both sides, or neither'
  const pixels = Number(side)
  const isOne = Number.isInteger(pixels) && SIDE.min <= pixels && pixels <= SIDE.max
  return isOne ? null : `A whole number from ${SIDE.min} to ${SIDE.max}`
}

function isZone(name: string): boolean {
  if (name === '') return true
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null && /^[a-z]/i.test(name)
  } catch {
    return false
  }
}
