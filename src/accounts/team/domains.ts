/** The domain of an e-mail address and its parent domains, longest first: `a.b.mx` gives `a.b.mx`, `b.mx`, `mx`. */
export function domainsOf(email: string): string[] {
  const labels = email
    .slice(email.lastIndexOf('@') + 1)
    .toLowerCase()
    .split('.')
  return labels.map((_, n) => labels.slice(n).join('.'))
}

/** Names that temporary mailboxes give themselves, at the start of a label. A list of domains is always some of them behind. */
const DISPOSABLE_NAME = /^(te?mp|trash|fake|throw-?away|disposable|guerr?illa|burner|(\d{1,2}|ten)-?min(ute)?s?|minutes?)-?(e?-?mail|inbox)/

/** Whether a domain or one of its parent domains is named as temporary mailboxes are. */
export const hasDisposableName = (domain: string): boolean => domain.split('.').some((label) => DISPOSABLE_NAME.test(label))
