/** The label of the last breadcrumb, set by a page that knows its subject. */

class Crumbs {
  subject = $state('');
}

export const crumbs = new Crumbs();
