/** Says who hears of trouble by e-mail. The reader is "you", and comes first. */
export function toldText(emails: readonly string[], own: string): string {
  const others = emails.filter((email) => email !== own)
  if (others.length < emails.length) {
    const more =
      others.length === 0 ? '' : `, and so ${others.length === 1 ? 'does' : 'do'} ${others.join(', ')}`
    return `You hear of trouble at ${own}${more}`
  }
  const verb = emails.length === 1 ? 'hears' : 'hear'
  return emails.length === 0 ? 'Nobody hears of trouble by e-mail' : `${emails.join(', ')} ${verb} of trouble`
}
