/** The body of a stored page cannot be read now: the object store that has it does not answer. */
export class BodyUnavailable extends Error {
  override name = 'BodyUnavailable'
}
