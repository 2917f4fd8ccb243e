/** The database cannot be used. The message is a whole sentence for the operator and says what to do. */
export class DatabaseError extends Error {
  override name = 'DatabaseError'
}
